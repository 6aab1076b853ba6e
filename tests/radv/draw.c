// Compiles the programs of a draw or a dispatch with a Vulkan driver, or runs them.
//
//     draw compile SCENE CACHE
//     draw run SCENE
//     draw time SCENE RUNS
//
// A scene is a text file; a line is a word and what belongs to it (see `read_scene`). `compile` writes the pipeline cache to CACHE.
// `run` writes what storage images and storage buffers hold afterwards to the file that the scene names, with `.out` behind it. It draws
// each triangle by itself; targets are cleared before and written one behind the other. `time` draws all of it RUNS times and prints the
// least time that a draw took in milliseconds: by the clock, and of the processor.
// VK_ICD_FILENAMES chooses the driver.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

enum { MOST = 24 };

typedef struct {
   void *data;
   size_t size;
} File;

typedef struct {
   unsigned binding, view, format, width, height, depth, layers, levels, texel;
   char file[512];
   unsigned mag, min, mip, wrap[3], compares, compare, border;
   float bias, least, most;
   VkImage image;
} Texture;

typedef struct {
   unsigned binding;
   bool uniform;
   char file[512];
   File content;
   void *mapped;
   VkBuffer buffer;
} Buffer;

typedef struct {
   unsigned format, texel;
   char file[512];
   VkImage image;
} Target;

static unsigned width = 64, height = 64, stride, count, instances = 1, cull, groups[3];
static char shaders[3][512], vertices[512], indices[512], pushes[512];
static VkVertexInputAttributeDescription attributes[MOST];
static Texture textures[MOST], images[MOST];
static Buffer buffers[MOST];
static Target targets[8];
static unsigned attribute_count, texture_count, image_count, buffer_count, target_count;

static void fail(const char *what)
{
   fprintf(stderr, "draw: %s failed\n", what);
   exit(1);
}

#define CHECK(call)                                                                                                    \
   do {                                                                                                                \
      if ((call) != VK_SUCCESS)                                                                                        \
         fail(#call);                                                                                                  \
   } while (0)

static File read_file(const char *name)
{
   File file = {0};
   FILE *in = fopen(name, "rb");
   if (!in)
      fail(name);
   fseek(in, 0, SEEK_END);
   file.size = (size_t)ftell(in);
   rewind(in);
   file.data = malloc(file.size + 1);
   if (fread(file.data, 1, file.size, in) != file.size)
      fail(name);
   fclose(in);
   return file;
}

static void write_file(const char *name, const char *suffix, const void *data, size_t size, bool behind)
{
   char path[600];
   snprintf(path, sizeof path, "%s%s", name, suffix);
   FILE *out = fopen(path, behind ? "ab" : "wb");
   if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0)
      fail(name);
}

static void read_scene(const char *name)
{
   FILE *in = fopen(name, "r");
   char word[64];
   bool good = in;
   while (good && fscanf(in, "%63s", word) == 1) {
      Texture *t = &textures[texture_count];
      Buffer *b = &buffers[buffer_count];
#define WORD(text) (strcmp(word, text) == 0)
      if (WORD("size"))
         good = fscanf(in, "%u %u", &width, &height) == 2;
      else if (WORD("vert") || WORD("frag") || WORD("comp"))
         good = fscanf(in, "%511s", shaders[WORD("vert") ? 0 : WORD("frag") ? 1 : 2]) == 1;
      else if (WORD("groups"))
         good = fscanf(in, "%u %u %u", &groups[0], &groups[1], &groups[2]) == 3;
      else if (WORD("vertices"))
         good = fscanf(in, "%u %511s", &stride, vertices) == 2;
      else if (WORD("attribute")) {
         VkVertexInputAttributeDescription *a = &attributes[attribute_count++];
         good = fscanf(in, "%u %u %u", &a->location, &a->format, &a->offset) == 3;
      } else if (WORD("indices"))
         good = fscanf(in, "%511s", indices) == 1;
      else if (WORD("count"))
         good = fscanf(in, "%u %u", &count, &instances) == 2;
      else if (WORD("cull"))
         good = fscanf(in, "%u", &cull) == 1;
      else if (WORD("push"))
         good = fscanf(in, "%511s", pushes) == 1;
      else if (WORD("target")) {
         Target *target = &targets[target_count++];
         good = fscanf(in, "%u %u %511s", &target->format, &target->texel, target->file) == 3;
      } else if (WORD("uniform") || WORD("storage")) {
         b->uniform = WORD("uniform");
         good = fscanf(in, "%u %511s", &b->binding, b->file) == 2;
         buffer_count++;
      } else if (WORD("texture") || WORD("image")) {
         const bool samples = WORD("texture");
         if (!samples)
            t = &images[image_count];
         good = fscanf(in, "%u %u %u %u %u %u %u %u %u %511s", &t->binding, &t->view, &t->format, &t->texel, &t->width,
                       &t->height, &t->depth, &t->layers, &t->levels, t->file) == 10;
         if (samples)
            good = good && fscanf(in, "%u %u %u %u %u %u %u %u %u %f %f %f", &t->mag, &t->min, &t->mip, &t->wrap[0],
                                  &t->wrap[1], &t->wrap[2], &t->compares, &t->compare, &t->border, &t->bias, &t->least,
                                  &t->most) == 12;
         if (samples)
            texture_count++;
         else
            image_count++;
      } else
         good = false;
   }
   if (!good)
      fail(word);
   fclose(in);
}

static VkPhysicalDevice gpu;
static VkDevice device;
static VkQueue queue;
static VkCommandBuffer commands;

static void make_device(void)
{
   VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
   VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
   VkInstance instance;
   CHECK(vkCreateInstance(&instance_info, NULL, &instance));
   uint32_t found = 1;
   if (vkEnumeratePhysicalDevices(instance, &found, &gpu) < 0 || found == 0)
      fail("finding a device");
   VkPhysicalDeviceFeatures has;
   vkGetPhysicalDeviceFeatures(gpu, &has);
   VkPhysicalDeviceFeatures want = {
      .robustBufferAccess = true,
      .vertexPipelineStoresAndAtomics = has.vertexPipelineStoresAndAtomics,
      .fragmentStoresAndAtomics = has.fragmentStoresAndAtomics,
      .shaderImageGatherExtended = has.shaderImageGatherExtended,
      .shaderStorageImageExtendedFormats = has.shaderStorageImageExtendedFormats,
      .shaderStorageImageReadWithoutFormat = has.shaderStorageImageReadWithoutFormat,
      .shaderStorageImageWriteWithoutFormat = has.shaderStorageImageWriteWithoutFormat,
      .imageCubeArray = has.imageCubeArray,
      .independentBlend = has.independentBlend,
      .shaderClipDistance = has.shaderClipDistance,
      .shaderUniformBufferArrayDynamicIndexing = has.shaderUniformBufferArrayDynamicIndexing,
      .shaderSampledImageArrayDynamicIndexing = has.shaderSampledImageArrayDynamicIndexing,
   };
   float priority = 1;
   VkDeviceQueueCreateInfo queue_info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
   VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue_info,
                                     .pEnabledFeatures = &want};
   CHECK(vkCreateDevice(gpu, &device_info, NULL, &device));
   vkGetDeviceQueue(device, 0, 0, &queue);
}

static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkPipelineCache cache;
static VkPipeline pipeline;
static VkRenderPass pass;
static File push;

static VkShaderModule module(const char *path)
{
   File spv = read_file(path);
   VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = spv.size, .pCode = spv.data};
   VkShaderModule made;
   CHECK(vkCreateShaderModule(device, &info, NULL, &made));
   return made;
}

static void make_pipeline(void)
{
   VkDescriptorSetLayoutBinding bindings[3 * MOST];
   unsigned n = 0;
#define BIND(number, type)                                                                                             \
   bindings[n++] = (VkDescriptorSetLayoutBinding)                                                                      \
   {                                                                                                                   \
      .binding = number, .descriptorType = type, .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_ALL               \
   }
   for (unsigned i = 0; i < texture_count; i++)
      BIND(textures[i].binding, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
   for (unsigned i = 0; i < image_count; i++)
      BIND(images[i].binding, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
   for (unsigned i = 0; i < buffer_count; i++)
      BIND(buffers[i].binding,
           buffers[i].uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
   VkDescriptorSetLayoutCreateInfo set_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n, .pBindings = bindings};
   CHECK(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout));
   if (pushes[0])
      push = read_file(pushes);
   VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_ALL, .size = (uint32_t)push.size};
   VkPipelineLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set_layout,
                                             .pushConstantRangeCount = push.size != 0,
                                             .pPushConstantRanges = &range};
   CHECK(vkCreatePipelineLayout(device, &layout_info, NULL, &layout));
   VkPipelineCacheCreateInfo cache_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
   CHECK(vkCreatePipelineCache(device, &cache_info, NULL, &cache));
   if (shaders[2][0]) {
      VkComputePipelineCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module(shaders[2]),
                   .pName = "main"},
         .layout = layout,
      };
      CHECK(vkCreateComputePipelines(device, cache, 1, &info, NULL, &pipeline));
      return;
   }

   VkAttachmentDescription attachments[8];
   VkAttachmentReference references[8];
   VkPipelineColorBlendAttachmentState blends[8];
   for (unsigned i = 0; i < target_count; i++) {
      attachments[i] = (VkAttachmentDescription){.format = targets[i].format,
                                                 .samples = 1,
                                                 .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                 .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                 .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
      references[i] = (VkAttachmentReference){i, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
      blends[i] = (VkPipelineColorBlendAttachmentState){.colorWriteMask = 15};
   }
   // A depth buffer is the last target; it is always written.
   bool depth = false;
   VkAttachmentReference depth_reference = {target_count - 1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
   if (target_count && targets[target_count - 1].format == VK_FORMAT_D32_SFLOAT)
      depth = true;
   VkSubpassDescription subpass = {.colorAttachmentCount = target_count - depth,
                                   .pColorAttachments = references,
                                   .pDepthStencilAttachment = depth ? &depth_reference : NULL};
   VkRenderPassCreateInfo pass_info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                       .attachmentCount = target_count,
                                       .pAttachments = attachments,
                                       .subpassCount = 1,
                                       .pSubpasses = &subpass};
   CHECK(vkCreateRenderPass(device, &pass_info, NULL, &pass));
   VkPipelineShaderStageCreateInfo stages[2];
   for (unsigned i = 0; i < 2; i++)
      stages[i] = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                    .stage = i ? VK_SHADER_STAGE_FRAGMENT_BIT
                                                               : VK_SHADER_STAGE_VERTEX_BIT,
                                                    .module = module(shaders[i]),
                                                    .pName = "main"};
   VkVertexInputBindingDescription binding = {.stride = stride};
   VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                 .vertexBindingDescriptionCount = attribute_count != 0,
                                                 .pVertexBindingDescriptions = &binding,
                                                 .vertexAttributeDescriptionCount = attribute_count,
                                                 .pVertexAttributeDescriptions = attributes};
   VkPipelineInputAssemblyStateCreateInfo assembly = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
   VkViewport viewport = {.width = (float)width, .height = (float)height, .maxDepth = 1};
   VkRect2D scissor = {.extent = {width, height}};
   VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                             .viewportCount = 1,
                                             .pViewports = &viewport,
                                             .scissorCount = 1,
                                             .pScissors = &scissor};
   VkPipelineRasterizationStateCreateInfo raster = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .cullMode = cull, .lineWidth = 1};
   VkPipelineMultisampleStateCreateInfo samples = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO, .rasterizationSamples = 1};
   VkPipelineDepthStencilStateCreateInfo deep = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                 .depthTestEnable = depth,
                                                 .depthWriteEnable = depth,
                                                 .depthCompareOp = VK_COMPARE_OP_ALWAYS};
   VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                .attachmentCount = target_count - depth,
                                                .pAttachments = blends};
   VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                        .stageCount = 2,
                                        .pStages = stages,
                                        .pVertexInputState = &input,
                                        .pInputAssemblyState = &assembly,
                                        .pViewportState = &view,
                                        .pRasterizationState = &raster,
                                        .pMultisampleState = &samples,
                                        .pDepthStencilState = &deep,
                                        .pColorBlendState = &blend,
                                        .layout = layout,
                                        .renderPass = pass};
   CHECK(vkCreateGraphicsPipelines(device, cache, 1, &info, NULL, &pipeline));
}

static VkDeviceMemory allocate(VkMemoryRequirements needs)
{
   VkPhysicalDeviceMemoryProperties memory;
   vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
   const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   for (uint32_t n = 0; n < memory.memoryTypeCount; n++) {
      if (needs.memoryTypeBits >> n & 1 && (memory.memoryTypes[n].propertyFlags & wanted) == wanted) {
         VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = n};
         VkDeviceMemory made;
         CHECK(vkAllocateMemory(device, &info, NULL, &made));
         return made;
      }
   }
   fail("finding memory");
   return VK_NULL_HANDLE;
}

static VkBuffer make_buffer(const File *content, void **mapped)
{
   VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                              .size = content->size,
                              .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                       VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                                       VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
   VkBuffer buffer;
   CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
   VkMemoryRequirements needs;
   vkGetBufferMemoryRequirements(device, buffer, &needs);
   VkDeviceMemory memory = allocate(needs);
   CHECK(vkBindBufferMemory(device, buffer, memory, 0));
   CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, mapped));
   if (content->data)
      memcpy(*mapped, content->data, content->size);
   return buffer;
}

static VkImage make_image(VkFormat format, VkImageType type, VkExtent3D extent, unsigned levels, unsigned layers,
                          bool cube, VkImageUsageFlags usage)
{
   VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                             .flags = cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
                             .imageType = type,
                             .format = format,
                             .extent = extent,
                             .mipLevels = levels,
                             .arrayLayers = layers,
                             .samples = 1,
                             .usage = usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
   VkImage image;
   CHECK(vkCreateImage(device, &info, NULL, &image));
   VkMemoryRequirements needs;
   vkGetImageMemoryRequirements(device, image, &needs);
   CHECK(vkBindImageMemory(device, image, allocate(needs), 0));
   return image;
}

static VkImageView make_view(VkImage image, VkImageViewType type, VkFormat format)
{
   VkImageViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image,
      .viewType = type,
      .format = format,
      .subresourceRange = {.aspectMask =
                              format == VK_FORMAT_D32_SFLOAT ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT,
                           .levelCount = VK_REMAINING_MIP_LEVELS,
                           .layerCount = VK_REMAINING_ARRAY_LAYERS}};
   VkImageView view;
   CHECK(vkCreateImageView(device, &info, NULL, &view));
   return view;
}

static void begin(void)
{
   VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   CHECK(vkBeginCommandBuffer(commands, &info));
}

static void submit(void)
{
   CHECK(vkEndCommandBuffer(commands));
   VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
   CHECK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
   CHECK(vkQueueWaitIdle(queue));
}

static void barrier(VkImage image, VkImageAspectFlags aspect, VkImageLayout from, VkImageLayout to)
{
   VkImageMemoryBarrier info = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                .oldLayout = from,
                                .newLayout = to,
                                .image = image,
                                .subresourceRange = {aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS}};
   vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
                        NULL, 1, &info);
}

static unsigned at_least_1(unsigned number)
{
   return number ? number : 1;
}

// Copies all levels and layers between the image and bytes: level by level, each with all of its slices, tightly packed.
static void copy(VkImage image, const Texture *t, VkBuffer buffer, bool back)
{
   const VkImageAspectFlags aspect =
      t->format == VK_FORMAT_D32_SFLOAT ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
   // A texel of a block-compressed format stands for a block of 4 by 4.
   const unsigned block = t->format >= VK_FORMAT_BC1_RGB_UNORM_BLOCK && t->format <= VK_FORMAT_BC7_SRGB_BLOCK ? 4 : 1;
   VkDeviceSize at = 0;
   for (unsigned level = 0; level < t->levels; level++) {
      VkExtent3D extent = {at_least_1(t->width >> level), at_least_1(t->height >> level), at_least_1(t->depth >> level)};
      VkBufferImageCopy region = {
         .bufferOffset = at, .imageSubresource = {aspect, level, 0, t->layers}, .imageExtent = extent};
      if (back)
         vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &region);
      else
         vkCmdCopyBufferToImage(commands, buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
      at += (VkDeviceSize)((extent.width + block - 1) / block) * ((extent.height + block - 1) / block) * extent.depth *
            t->layers * t->texel;
   }
}

static void load_image(Texture *t, VkImageUsageFlags usage)
{
   const VkImageType type = t->view == VK_IMAGE_VIEW_TYPE_1D || t->view == VK_IMAGE_VIEW_TYPE_1D_ARRAY ? VK_IMAGE_TYPE_1D
                            : t->view == VK_IMAGE_VIEW_TYPE_3D                                         ? VK_IMAGE_TYPE_3D
                                                                                                       : VK_IMAGE_TYPE_2D;
   const bool cube = t->view == VK_IMAGE_VIEW_TYPE_CUBE || t->view == VK_IMAGE_VIEW_TYPE_CUBE_ARRAY;
   t->image = make_image(t->format, type, (VkExtent3D){t->width, t->height, t->depth}, t->levels, t->layers, cube, usage);
   File content = read_file(t->file);
   void *mapped;
   VkBuffer buffer = make_buffer(&content, &mapped);
   begin();
   const VkImageAspectFlags aspect =
      t->format == VK_FORMAT_D32_SFLOAT ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
   barrier(t->image, aspect, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
   copy(t->image, t, buffer, false);
   barrier(t->image, aspect, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
   submit();
}

static void save_image(VkImage image, const Texture *t, const char *file, bool behind)
{
   size_t size = 0;
   for (unsigned level = 0; level < t->levels; level++)
      size += (size_t)at_least_1(t->width >> level) * at_least_1(t->height >> level) * at_least_1(t->depth >> level) *
              t->layers * t->texel;
   File nothing = {.size = size};
   void *mapped;
   VkBuffer buffer = make_buffer(&nothing, &mapped);
   begin();
   copy(image, t, buffer, true);
   submit();
   write_file(file, ".out", mapped, size, behind);
}

static VkDescriptorSet make_set(void)
{
   VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, MOST},
                                   {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, MOST},
                                   {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, MOST},
                                   {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST}};
   VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = 1,
                                           .poolSizeCount = 4,
                                           .pPoolSizes = sizes};
   VkDescriptorPool pool;
   CHECK(vkCreateDescriptorPool(device, &pool_info, NULL, &pool));
   VkDescriptorSetAllocateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = pool,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &set_layout};
   VkDescriptorSet set;
   CHECK(vkAllocateDescriptorSets(device, &set_info, &set));
   VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1};
   for (unsigned i = 0; i < texture_count + image_count; i++) {
      const bool samples = i < texture_count;
      Texture *t = samples ? &textures[i] : &images[i - texture_count];
      load_image(t, samples ? VK_IMAGE_USAGE_SAMPLED_BIT : VK_IMAGE_USAGE_STORAGE_BIT);
      VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                  .magFilter = t->mag,
                                  .minFilter = t->min,
                                  .mipmapMode = t->mip,
                                  .addressModeU = t->wrap[0],
                                  .addressModeV = t->wrap[1],
                                  .addressModeW = t->wrap[2],
                                  .compareEnable = t->compares,
                                  .compareOp = t->compare,
                                  .borderColor = t->border,
                                  .mipLodBias = t->bias,
                                  .minLod = t->least,
                                  .maxLod = t->most};
      VkDescriptorImageInfo image = {.imageView = make_view(t->image, t->view, t->format),
                                     .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
      if (samples)
         CHECK(vkCreateSampler(device, &info, NULL, &image.sampler));
      write.dstBinding = t->binding;
      write.descriptorType =
         samples ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
      write.pImageInfo = &image;
      vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
   }
   for (unsigned i = 0; i < buffer_count; i++) {
      Buffer *b = &buffers[i];
      b->content = read_file(b->file);
      b->buffer = make_buffer(&b->content, &b->mapped);
      VkDescriptorBufferInfo info = {.buffer = b->buffer, .range = b->content.size};
      write.dstBinding = b->binding;
      write.descriptorType = b->uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = &info;
      vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
   }
   return set;
}

static VkFramebuffer make_framebuffer(void)
{
   VkImageView views[8];
   for (unsigned i = 0; i < target_count; i++) {
      const bool depth = targets[i].format == VK_FORMAT_D32_SFLOAT;
      targets[i].image =
         make_image(targets[i].format, VK_IMAGE_TYPE_2D, (VkExtent3D){width, height, 1}, 1, 1, false,
                    depth ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT : VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
      views[i] = make_view(targets[i].image, VK_IMAGE_VIEW_TYPE_2D, targets[i].format);
   }
   VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                   .renderPass = pass,
                                   .attachmentCount = target_count,
                                   .pAttachments = views,
                                   .width = width,
                                   .height = height,
                                   .layers = 1};
   VkFramebuffer framebuffer;
   CHECK(vkCreateFramebuffer(device, &info, NULL, &framebuffer));
   return framebuffer;
}

static double now(clockid_t clock)
{
   struct timespec time;
   clock_gettime(clock, &time);
   return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void run(unsigned runs)
{
   VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
   VkCommandPool pool;
   CHECK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
   VkCommandBufferAllocateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .commandBufferCount = 1};
   CHECK(vkAllocateCommandBuffers(device, &buffer_info, &commands));
   VkDescriptorSet set = make_set();
   const bool computes = shaders[2][0];
   const VkPipelineBindPoint point = computes ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS;
   VkFramebuffer framebuffer = computes ? VK_NULL_HANDLE : make_framebuffer();
   VkBuffer vertex_buffer = VK_NULL_HANDLE, index_buffer = VK_NULL_HANDLE;
   void *mapped;
   if (vertices[0]) {
      File content = read_file(vertices);
      vertex_buffer = make_buffer(&content, &mapped);
   }
   if (indices[0]) {
      File content = read_file(indices);
      index_buffer = make_buffer(&content, &mapped);
   }
   const unsigned draws = runs ? runs : computes ? 1 : count / 3 * instances;
   double least = 1e30, least_work = 1e30;
   for (unsigned draw = 0; draw < draws; draw++) {
      const double start = now(CLOCK_MONOTONIC), start_work = now(CLOCK_PROCESS_CPUTIME_ID);
      begin();
      vkCmdBindPipeline(commands, point, pipeline);
      vkCmdBindDescriptorSets(commands, point, layout, 0, 1, &set, 0, NULL);
      if (push.size)
         vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, (uint32_t)push.size, push.data);
      if (computes) {
         vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
      } else {
         VkClearValue clears[8] = {0};
         VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                       .renderPass = pass,
                                       .framebuffer = framebuffer,
                                       .renderArea = {.extent = {width, height}},
                                       .clearValueCount = target_count,
                                       .pClearValues = clears};
         vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
         VkDeviceSize zero = 0;
         vkCmdBindVertexBuffers(commands, 0, 1, &vertex_buffer, &zero);
         vkCmdBindIndexBuffer(commands, index_buffer, 0, VK_INDEX_TYPE_UINT32);
         if (runs)
            vkCmdDrawIndexed(commands, count, instances, 0, 0, 0);
         else
            vkCmdDrawIndexed(commands, 3, 1, draw % (count / 3) * 3, 0, draw / (count / 3));
         vkCmdEndRenderPass(commands);
      }
      submit();
      if (runs) {
         const double took = now(CLOCK_MONOTONIC) - start, work = now(CLOCK_PROCESS_CPUTIME_ID) - start_work;
         least = took < least ? took : least;
         least_work = work < least_work ? work : least_work;
         continue;
      }
      for (unsigned i = 0; i < target_count; i++) {
         Texture shape = {.format = targets[i].format,
                          .texel = targets[i].texel,
                          .width = width,
                          .height = height,
                          .depth = 1,
                          .layers = 1,
                          .levels = 1};
         save_image(targets[i].image, &shape, targets[i].file, draw != 0);
      }
   }
   if (runs) {
      printf("%.3f %.3f\n", least, least_work);
      return;
   }
   for (unsigned i = 0; i < image_count; i++)
      save_image(images[i].image, &images[i], images[i].file, false);
   for (unsigned i = 0; i < buffer_count; i++) {
      if (!buffers[i].uniform)
         write_file(buffers[i].file, ".out", buffers[i].mapped, buffers[i].content.size, false);
   }
}

int main(int argc, char **argv)
{
   const bool compiles = argc == 4 && strcmp(argv[1], "compile") == 0;
   const bool times = argc == 4 && strcmp(argv[1], "time") == 0;
   if (!compiles && !times && !(argc == 3 && strcmp(argv[1], "run") == 0)) {
      fprintf(stderr, "usage: draw compile SCENE CACHE | draw run SCENE | draw time SCENE RUNS\n");
      return 2;
   }
   read_scene(argv[2]);
   make_device();
   make_pipeline();
   if (!compiles) {
      run(times ? (unsigned)atoi(argv[3]) : 0);
      return 0;
   }
   File blob = {0};
   CHECK(vkGetPipelineCacheData(device, cache, &blob.size, NULL));
   blob.data = malloc(blob.size);
   CHECK(vkGetPipelineCacheData(device, cache, &blob.size, blob.data));
   write_file(argv[3], "", blob.data, blob.size, false);
   return 0;
}
