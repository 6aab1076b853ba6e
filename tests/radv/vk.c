// Compiles a compute shader with a Vulkan driver, or runs it.
//
//     vk compile PREFIX CACHE
//     vk run PREFIX X Y Z
//
// PREFIX.spv is the shader. PREFIX.buf0, .buf1 and so on are the contents of storage buffers: bindings 0, 1 and so on of set 0.
// PREFIX.push and PREFIX.spec are push constants and the words of specialization constants 0, 1 and so on, if they exist.
// `compile` writes the pipeline cache to CACHE. `run` dispatches X by Y by Z workgroups and writes what each buffer holds
// behind to PREFIX.buf0.out and so on. VK_ICD_FILENAMES chooses the driver.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { MOST_BUFFERS = 8, MOST_CONSTANTS = 16 };

typedef struct {
   void *data;
   size_t size;
} File;

static void fail(const char *what)
{
   fprintf(stderr, "vk: %s failed\n", what);
   exit(1);
}

#define CHECK(call)                                                                                                    \
   do {                                                                                                                \
      if ((call) != VK_SUCCESS)                                                                                        \
         fail(#call);                                                                                                  \
   } while (0)

static const char *path(const char *prefix, const char *suffix)
{
   static char text[4096];
   snprintf(text, sizeof text, "%s.%s", prefix, suffix);
   return text;
}

// A file's content; no data if there is none.
static File read_file(const char *name)
{
   File file = {0};
   FILE *in = fopen(name, "rb");
   if (!in)
      return file;
   fseek(in, 0, SEEK_END);
   file.size = (size_t)ftell(in);
   rewind(in);
   file.data = malloc(file.size + 1);
   if (fread(file.data, 1, file.size, in) != file.size)
      fail(name);
   fclose(in);
   return file;
}

static void write_file(const char *name, const void *data, size_t size)
{
   FILE *out = fopen(name, "wb");
   if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0)
      fail(name);
}

static VkPhysicalDevice gpu;
static VkDevice device;
static uint32_t family;

// Enables everything that the driver has of what shaders here use.
static void make_device(void)
{
   VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
   VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
   VkInstance instance;
   CHECK(vkCreateInstance(&instance_info, NULL, &instance));
   uint32_t count = 1;
   if (vkEnumeratePhysicalDevices(instance, &count, &gpu) < 0 || count == 0)
      fail("finding a device");

   VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
   VkPhysicalDeviceVulkan11Features has11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             .pNext = &has12};
   VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has11};
   vkGetPhysicalDeviceFeatures2(gpu, &has);
   VkPhysicalDeviceVulkan12Features want12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .shaderFloat16 = has12.shaderFloat16,
      .shaderInt8 = has12.shaderInt8,
      .storageBuffer8BitAccess = has12.storageBuffer8BitAccess,
   };
   VkPhysicalDeviceVulkan11Features want11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .pNext = &want12,
      .storageBuffer16BitAccess = has11.storageBuffer16BitAccess,
   };
   VkPhysicalDeviceFeatures2 want = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = &want11,
      .features = {.robustBufferAccess = true,
                   .shaderFloat64 = has.features.shaderFloat64,
                   .shaderInt64 = has.features.shaderInt64,
                   .shaderInt16 = has.features.shaderInt16},
   };

   VkQueueFamilyProperties families[8];
   uint32_t family_count = 8;
   vkGetPhysicalDeviceQueueFamilyProperties(gpu, &family_count, families);
   while (family < family_count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
      family++;
   float priority = 1;
   VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
   VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &want,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue_info};
   CHECK(vkCreateDevice(gpu, &device_info, NULL, &device));
}

static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkPipelineCache cache;
static VkPipeline pipeline;
static File push;

static void make_pipeline(const char *prefix, uint32_t buffers)
{
   VkDescriptorSetLayoutBinding bindings[MOST_BUFFERS] = {0};
   for (uint32_t n = 0; n < buffers; n++) {
      bindings[n] = (VkDescriptorSetLayoutBinding){.binding = n,
                                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                   .descriptorCount = 1,
                                                   .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
   }
   VkDescriptorSetLayoutCreateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               .bindingCount = buffers,
                                               .pBindings = bindings};
   CHECK(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout));
   push = read_file(path(prefix, "push"));
   VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = (uint32_t)push.size};
   VkPipelineLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set_layout,
                                             .pushConstantRangeCount = push.size != 0,
                                             .pPushConstantRanges = &range};
   CHECK(vkCreatePipelineLayout(device, &layout_info, NULL, &layout));

   File spv = read_file(path(prefix, "spv"));
   VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = spv.size,
                                           .pCode = spv.data};
   VkShaderModule module;
   CHECK(vkCreateShaderModule(device, &module_info, NULL, &module));

   File spec = read_file(path(prefix, "spec"));
   VkSpecializationMapEntry entries[MOST_CONSTANTS];
   for (uint32_t n = 0; n < MOST_CONSTANTS; n++)
      entries[n] = (VkSpecializationMapEntry){.constantID = n, .offset = 4 * n, .size = 4};
   VkSpecializationInfo spec_info = {.mapEntryCount = (uint32_t)(spec.size / 4),
                                     .pMapEntries = entries,
                                     .dataSize = spec.size,
                                     .pData = spec.data};
   VkPipelineCacheCreateInfo cache_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
   CHECK(vkCreatePipelineCache(device, &cache_info, NULL, &cache));
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &spec_info},
      .layout = layout,
   };
   CHECK(vkCreateComputePipelines(device, cache, 1, &info, NULL, &pipeline));
}

static uint32_t visible_memory(uint32_t allowed)
{
   VkPhysicalDeviceMemoryProperties memory;
   vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
   const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   for (uint32_t n = 0; n < memory.memoryTypeCount; n++) {
      if (allowed >> n & 1 && (memory.memoryTypes[n].propertyFlags & wanted) == wanted)
         return n;
   }
   fail("finding memory");
   return 0;
}

// A storage buffer with that content; gives where the host sees it.
static void *make_buffer(const File *content, VkBuffer *buffer)
{
   VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                              .size = content->size,
                              .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
   CHECK(vkCreateBuffer(device, &info, NULL, buffer));
   VkMemoryRequirements needs;
   vkGetBufferMemoryRequirements(device, *buffer, &needs);
   VkMemoryAllocateInfo alloc = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs.size,
                                 .memoryTypeIndex = visible_memory(needs.memoryTypeBits)};
   VkDeviceMemory memory;
   CHECK(vkAllocateMemory(device, &alloc, NULL, &memory));
   CHECK(vkBindBufferMemory(device, *buffer, memory, 0));
   void *mapped;
   CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
   memcpy(mapped, content->data, content->size);
   return mapped;
}

static void run(const char *prefix, const File *contents, uint32_t count, const uint32_t grid[3])
{
   VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = count};
   VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = 1,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &size};
   VkDescriptorPool pool;
   CHECK(vkCreateDescriptorPool(device, &pool_info, NULL, &pool));
   VkDescriptorSetAllocateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = pool,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &set_layout};
   VkDescriptorSet set;
   CHECK(vkAllocateDescriptorSets(device, &set_info, &set));
   void *mapped[MOST_BUFFERS];
   for (uint32_t n = 0; n < count; n++) {
      VkBuffer buffer;
      mapped[n] = make_buffer(&contents[n], &buffer);
      VkDescriptorBufferInfo info = {.buffer = buffer, .range = contents[n].size};
      VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstSet = set,
                                    .dstBinding = n,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                    .pBufferInfo = &info};
      vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
   }

   VkCommandPoolCreateInfo commands_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .queueFamilyIndex = family};
   VkCommandPool commands;
   CHECK(vkCreateCommandPool(device, &commands_info, NULL, &commands));
   VkCommandBufferAllocateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = commands,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
   VkCommandBuffer command;
   CHECK(vkAllocateCommandBuffers(device, &buffer_info, &command));
   VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   CHECK(vkBeginCommandBuffer(command, &begin));
   vkCmdBindPipeline(command, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(command, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
   if (push.size)
      vkCmdPushConstants(command, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, (uint32_t)push.size, push.data);
   vkCmdDispatch(command, grid[0], grid[1], grid[2]);
   CHECK(vkEndCommandBuffer(command));
   VkQueue queue;
   vkGetDeviceQueue(device, family, 0, &queue);
   VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &command};
   CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
   CHECK(vkQueueWaitIdle(queue));
   for (uint32_t n = 0; n < count; n++) {
      char suffix[32];
      snprintf(suffix, sizeof suffix, "buf%u.out", n);
      write_file(path(prefix, suffix), mapped[n], contents[n].size);
   }
}

int main(int argc, char **argv)
{
   const bool compiles = argc == 4 && strcmp(argv[1], "compile") == 0;
   const bool runs = argc == 6 && strcmp(argv[1], "run") == 0;
   if (!compiles && !runs) {
      fprintf(stderr, "usage: vk compile PREFIX CACHE | vk run PREFIX X Y Z\n");
      return 2;
   }
   const char *prefix = argv[2];
   File contents[MOST_BUFFERS];
   uint32_t count = 0;
   while (count < MOST_BUFFERS) {
      char suffix[16];
      snprintf(suffix, sizeof suffix, "buf%u", count);
      contents[count] = read_file(path(prefix, suffix));
      if (!contents[count].data)
         break;
      count++;
   }
   make_device();
   make_pipeline(prefix, count);
   if (runs) {
      const uint32_t grid[3] = {(uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5])};
      run(prefix, contents, count, grid);
      return 0;
   }
   File blob = {0};
   CHECK(vkGetPipelineCacheData(device, cache, &blob.size, NULL));
   blob.data = malloc(blob.size);
   CHECK(vkGetPipelineCacheData(device, cache, &blob.size, blob.data));
   write_file(argv[3], blob.data, blob.size);
   return 0;
}
