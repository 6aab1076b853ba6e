// Copies, blits and clears of images, which Vulkan's graphics queue does by drawing, and whether their results arrive.
// Says "all right" at the end if all did. clients.rs compiles and runs it.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#define C(x) do { VkResult r_ = (x); if (r_) { printf("FAIL line %d: %s: %d\n", __LINE__, #x, r_); exit(1); } } while (0)
#define S(T) .sType = VK_STRUCTURE_TYPE_##T

enum { WIDTH = 37, HEIGHT = 21, BYTES = 1 << 21 };
static VkPhysicalDevice physical;
static VkPhysicalDeviceMemoryProperties heaps;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkCommandBuffer commands;
static VkBuffer buffers[2];
static uint8_t *mapped[2];
static int wrong;

static void check(const char *what, int format, int ok) {
  if (!ok) printf("WRONG %s of format %d\n", what, format);
  wrong += !ok;
}

static uint32_t memory_type(uint32_t bits, VkMemoryPropertyFlags flags) {
  for (uint32_t t = 0; t < heaps.memoryTypeCount; t++)
    if (bits >> t & 1 && (heaps.memoryTypes[t].propertyFlags & flags) == flags) return t;
  printf("no memory\n");
  exit(1);
}

static VkDeviceMemory allocate(VkMemoryRequirements need, VkMemoryPropertyFlags flags) {
  VkDeviceMemory memory;
  C(vkAllocateMemory(device, &(VkMemoryAllocateInfo){S(MEMORY_ALLOCATE_INFO), .allocationSize = need.size, .memoryTypeIndex = memory_type(need.memoryTypeBits, flags)}, 0, &memory));
  return memory;
}

static VkImage image_of(VkImageType type, VkFormat format, VkExtent3D size, uint32_t levels, uint32_t layers, int is_depth) {
  VkImage made;
  VkMemoryRequirements need;
  VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | (is_depth ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT : VK_IMAGE_USAGE_SAMPLED_BIT);
  C(vkCreateImage(device, &(VkImageCreateInfo){S(IMAGE_CREATE_INFO), .imageType = type, .format = format, .extent = size, .mipLevels = levels, .arrayLayers = layers, .samples = 1, .usage = usage}, 0, &made));
  vkGetImageMemoryRequirements(device, made, &need);
  C(vkBindImageMemory(device, made, allocate(need, 0), 0));
  return made;
}

static VkImage image(VkFormat format, uint32_t width, uint32_t height, uint32_t levels, uint32_t layers, int is_depth) {
  return image_of(VK_IMAGE_TYPE_2D, format, (VkExtent3D){width, height, 1}, levels, layers, is_depth);
}

static void barrier(void) {
  VkMemoryBarrier m = {S(MEMORY_BARRIER), .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &m, 0, 0, 0, 0);
}

static void ready(VkImage image, VkImageAspectFlags aspect) {
  VkImageMemoryBarrier m = {S(IMAGE_MEMORY_BARRIER), .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED, .newLayout = VK_IMAGE_LAYOUT_GENERAL, .image = image, .subresourceRange = {aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS}};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, 0, 0, 0, 1, &m);
}

static void begin(void) {
  C(vkResetCommandPool(device, pool, 0));
  C(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){S(COMMAND_BUFFER_BEGIN_INFO)}));
  memset(mapped[1], 0xa5, BYTES);
}

static void submit(void) {
  barrier();
  C(vkEndCommandBuffer(commands));
  C(vkQueueSubmit(queue, 1, &(VkSubmitInfo){S(SUBMIT_INFO), .commandBufferCount = 1, .pCommandBuffers = &commands}, 0));
  C(vkQueueWaitIdle(queue));
}

static VkBufferImageCopy region(VkImageAspectFlags aspect, uint32_t level, uint32_t layer, uint32_t width, uint32_t height) {
  return (VkBufferImageCopy){.imageSubresource = {aspect, level, layer, 1}, .imageExtent = {width, height, 1}};
}

// Up, from image to image (another place, another layer), down.
static void copies(VkFormat format, uint32_t size) {
  VkImage a = image(format, WIDTH, HEIGHT, 1, 1, 0), b = image(format, WIDTH, HEIGHT, 1, 3, 0);
  VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
  for (uint32_t i = 0; i < BYTES; i++) mapped[0][i] = (uint8_t)(i * 31 + i / 256 * 7);
  // No infinities and no NaNs, which need not keep their bits.
  if (format == VK_FORMAT_R16G16B16A16_SFLOAT || format == VK_FORMAT_R32_SFLOAT || format == VK_FORMAT_B10G11R11_UFLOAT_PACK32)
    for (uint32_t i = 0; i < BYTES; i++) mapped[0][i] &= format == VK_FORMAT_B10G11R11_UFLOAT_PACK32 ? 0x33 : 0xbb;
  // -128 and -127 are the same number.
  if (format == VK_FORMAT_R8G8_SNORM) for (uint32_t i = 0; i < BYTES; i++) if (mapped[0][i] == 0x80) mapped[0][i] = 0x81;
  begin();
  ready(a, color);
  ready(b, color);
  VkBufferImageCopy up = region(color, 0, 0, WIDTH, HEIGHT), down = region(color, 0, 2, WIDTH, HEIGHT);
  vkCmdCopyBufferToImage(commands, buffers[0], a, VK_IMAGE_LAYOUT_GENERAL, 1, &up);
  barrier();
  VkImageCopy rest[2] = {
    {.srcSubresource = {color, 0, 0, 1}, .dstSubresource = {color, 0, 2, 1}, .srcOffset = {0, 0, 0}, .dstOffset = {5, 3, 0}, .extent = {WIDTH - 5, HEIGHT - 3, 1}},
    {.srcSubresource = {color, 0, 0, 1}, .dstSubresource = {color, 0, 2, 1}, .srcOffset = {1, 1, 0}, .dstOffset = {0, 0, 0}, .extent = {5, HEIGHT - 1, 1}},
  };
  vkCmdCopyImage(commands, a, VK_IMAGE_LAYOUT_GENERAL, b, VK_IMAGE_LAYOUT_GENERAL, 2, rest);
  barrier();
  vkCmdCopyImageToBuffer(commands, b, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &down);
  submit();
  int ok = 1;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      if (x >= 5 && y < 3) continue;
      if (x < 5 && y >= HEIGHT - 1) continue;
      int from_x = x < 5 ? x + 1 : x - 5, from_y = x < 5 ? y + 1 : y - 3;
      ok &= !memcmp(mapped[1] + size * (y * WIDTH + x), mapped[0] + size * (from_y * WIDTH + from_x), size);
    }
  check("copies", format, ok);
}

// All levels and layers of a large image, or all slices of a solid one.
static void large(VkFormat format, uint32_t size, int is_solid) {
  uint32_t width = is_solid ? 70 : 300, height = is_solid ? 41 : 260, depth = is_solid ? 9 : 1, levels = is_solid ? 1 : 4, layers = is_solid ? 1 : 2;
  VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
  VkImage a = image_of(is_solid ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D, format, (VkExtent3D){width, height, depth}, levels, layers, 0);
  for (uint32_t i = 0; i < BYTES; i++) mapped[0][i] = (uint8_t)(i * 37 + i / 251);
  begin();
  ready(a, color);
  VkBufferImageCopy parts[16];
  uint32_t count = 0;
  VkDeviceSize end = 0;
  for (uint32_t level = 0; level < levels; level++)
    for (uint32_t layer = 0; layer < layers; layer++) {
      parts[count] = region(color, level, layer, width >> level, height >> level);
      parts[count].imageExtent.depth = depth;
      parts[count++].bufferOffset = end;
      end += (VkDeviceSize)size * (width >> level) * (height >> level) * depth;
    }
  if (end > BYTES) exit(1);
  vkCmdCopyBufferToImage(commands, buffers[0], a, VK_IMAGE_LAYOUT_GENERAL, count, parts);
  barrier();
  vkCmdCopyImageToBuffer(commands, a, VK_IMAGE_LAYOUT_GENERAL, buffers[1], count, parts);
  submit();
  check(is_solid ? "copies of a solid image" : "copies of levels", format, !memcmp(mapped[0], mapped[1], end));
}

static void clears(VkFormat format, uint32_t size, VkClearColorValue color, const void *wanted) {
  VkImage a = image(format, WIDTH, HEIGHT, 3, 2, 0);
  VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 3, 0, 2};
  begin();
  ready(a, VK_IMAGE_ASPECT_COLOR_BIT);
  vkCmdClearColorImage(commands, a, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &all);
  barrier();
  VkBufferImageCopy down = region(VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, WIDTH / 2, HEIGHT / 2);
  vkCmdCopyImageToBuffer(commands, a, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &down);
  submit();
  int ok = 1;
  for (int i = 0; i < WIDTH / 2 * (HEIGHT / 2); i++) ok &= !memcmp(mapped[1] + size * i, wanted, size);
  if (!ok) printf("cleared: %02x %02x %02x %02x\n", mapped[1][0], mapped[1][1], mapped[1][2], mapped[1][3]);
  check("a clear", format, ok);
}

// Turned around and twice as large; then smaller with linear filters.
static void blits(void) {
  VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
  VkImage a = image(format, 16, 16, 1, 1, 0), b = image(format, 32, 32, 2, 1, 0);
  uint32_t *from = (uint32_t *)mapped[0], *to = (uint32_t *)mapped[1];
  for (uint32_t i = 0; i < 256; i++) from[i] = i * 0x01030507;
  begin();
  ready(a, color);
  ready(b, color);
  VkBufferImageCopy up = region(color, 0, 0, 16, 16), down = region(color, 0, 0, 32, 32), less = region(color, 1, 0, 16, 16);
  less.bufferOffset = 4096;
  vkCmdCopyBufferToImage(commands, buffers[0], a, VK_IMAGE_LAYOUT_GENERAL, 1, &up);
  barrier();
  VkImageBlit turned = {{color, 0, 0, 1}, {{0, 0, 0}, {16, 16, 1}}, {color, 0, 0, 1}, {{32, 0, 0}, {0, 32, 1}}};
  vkCmdBlitImage(commands, a, VK_IMAGE_LAYOUT_GENERAL, b, VK_IMAGE_LAYOUT_GENERAL, 1, &turned, VK_FILTER_NEAREST);
  barrier();
  VkImageBlit halved = {{color, 0, 0, 1}, {{0, 0, 0}, {32, 32, 1}}, {color, 1, 0, 1}, {{0, 0, 0}, {16, 16, 1}}};
  vkCmdBlitImage(commands, b, VK_IMAGE_LAYOUT_GENERAL, b, VK_IMAGE_LAYOUT_GENERAL, 1, &halved, VK_FILTER_LINEAR);
  barrier();
  vkCmdCopyImageToBuffer(commands, b, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &down);
  vkCmdCopyImageToBuffer(commands, b, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &less);
  submit();
  int ok = 1;
  for (int y = 0; y < 32; y++) for (int x = 0; x < 32; x++) ok &= to[32 * y + x] == from[16 * (y / 2) + (31 - x) / 2];
  check("a blit", format, ok);
  ok = 1;
  for (int y = 0; y < 16; y++) for (int x = 0; x < 16; x++) ok &= to[1024 + 16 * y + x] == from[16 * y + 15 - x];
  check("a blit with filters", format, ok);
}

static void depths(VkFormat format, uint32_t size, int has_depth, int has_stencil) {
  VkFormatProperties can;
  vkGetPhysicalDeviceFormatProperties(physical, format, &can);
  if (!(can.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)) return;
  VkImageAspectFlags depth = has_depth ? VK_IMAGE_ASPECT_DEPTH_BIT : 0, stencil = has_stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : 0;
  VkImage a = image(format, WIDTH, HEIGHT, 1, 2, 1), b = image(format, WIDTH, HEIGHT, 1, 1, 1);
  float *floats = (float *)mapped[0];
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    if (size == 4) floats[i] = (float)i / 1024;
    else ((uint16_t *)mapped[0])[i] = (uint16_t)(i * 77);
    mapped[0][BYTES / 2 + i] = (uint8_t)(i * 5);
  }
  begin();
  ready(a, depth | stencil);
  ready(b, depth | stencil);
  VkClearDepthStencilValue value = {0.25f, 0x5a};
  VkImageSubresourceRange all = {depth | stencil, 0, 1, 0, 2};
  vkCmdClearDepthStencilImage(commands, a, VK_IMAGE_LAYOUT_GENERAL, &value, 1, &all);
  barrier();
  // The clear of layer 1 stays, layer 0 is copied to and from.
  for (int part = 0; part < 2; part++) {
    VkImageAspectFlags aspect = part ? stencil : depth;
    if (!aspect) continue;
    VkBufferImageCopy up = region(aspect, 0, 0, WIDTH, HEIGHT), cleared = region(aspect, 0, 1, WIDTH, HEIGHT), down = region(aspect, 0, 0, WIDTH, HEIGHT);
    up.bufferOffset = part ? BYTES / 2 : 0;
    vkCmdCopyBufferToImage(commands, buffers[0], a, VK_IMAGE_LAYOUT_GENERAL, 1, &up);
    barrier();
    VkImageCopy across = {.srcSubresource = {aspect, 0, 0, 1}, .dstSubresource = {aspect, 0, 0, 1}, .extent = {WIDTH, HEIGHT, 1}};
    vkCmdCopyImage(commands, a, VK_IMAGE_LAYOUT_GENERAL, b, VK_IMAGE_LAYOUT_GENERAL, 1, &across);
    barrier();
    down.bufferOffset = part ? BYTES / 2 : 0;
    cleared.bufferOffset = down.bufferOffset + BYTES / 4;
    vkCmdCopyImageToBuffer(commands, b, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &down);
    vkCmdCopyImageToBuffer(commands, a, VK_IMAGE_LAYOUT_GENERAL, buffers[1], 1, &cleared);
  }
  submit();
  if (has_depth) {
    check("depth copies", format, !memcmp(mapped[0], mapped[1], size * WIDTH * HEIGHT));
    int ok = 1;
    for (int i = 0; i < WIDTH * HEIGHT; i++) ok &= size == 4 ? ((float *)(mapped[1] + BYTES / 4))[i] == 0.25f : abs(((uint16_t *)(mapped[1] + BYTES / 4))[i] - 0x4000) <= 1;
    check("a clear of depth", format, ok);
  }
  if (has_stencil) {
    check("stencil copies", format, !memcmp(mapped[0] + BYTES / 2, mapped[1] + BYTES / 2, WIDTH * HEIGHT));
    int ok = 1;
    for (int i = 0; i < WIDTH * HEIGHT; i++) ok &= mapped[1][BYTES / 2 + BYTES / 4 + i] == 0x5a;
    check("a clear of stencil", format, ok);
  }
}

int main(void) {
  VkInstance instance;
  uint32_t one = 1;
  float priority = 1;
  C(vkCreateInstance(&(VkInstanceCreateInfo){S(INSTANCE_CREATE_INFO), .pApplicationInfo = &(VkApplicationInfo){S(APPLICATION_INFO), .apiVersion = VK_API_VERSION_1_1}}, 0, &instance));
  if (vkEnumeratePhysicalDevices(instance, &one, &physical) < 0 || !one) { printf("no device\n"); return 1; }
  vkGetPhysicalDeviceMemoryProperties(physical, &heaps);
  C(vkCreateDevice(physical, &(VkDeviceCreateInfo){S(DEVICE_CREATE_INFO), .queueCreateInfoCount = 1, .pQueueCreateInfos = &(VkDeviceQueueCreateInfo){S(DEVICE_QUEUE_CREATE_INFO), .queueCount = 1, .pQueuePriorities = &priority}}, 0, &device));
  vkGetDeviceQueue(device, 0, 0, &queue);
  C(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){S(COMMAND_POOL_CREATE_INFO)}, 0, &pool));
  C(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){S(COMMAND_BUFFER_ALLOCATE_INFO), .commandPool = pool, .commandBufferCount = 1}, &commands));
  for (int i = 0; i < 2; i++) {
    VkMemoryRequirements need;
    C(vkCreateBuffer(device, &(VkBufferCreateInfo){S(BUFFER_CREATE_INFO), .size = BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT}, 0, &buffers[i]));
    vkGetBufferMemoryRequirements(device, buffers[i], &need);
    VkDeviceMemory memory = allocate(need, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    C(vkBindBufferMemory(device, buffers[i], memory, 0));
    C(vkMapMemory(device, memory, 0, BYTES, 0, (void **)&mapped[i]));
  }
  static const struct { VkFormat format; uint32_t size; } formats[] = {
    {VK_FORMAT_R8_UNORM, 1}, {VK_FORMAT_R8G8_SNORM, 2}, {VK_FORMAT_R5G6B5_UNORM_PACK16, 2}, {VK_FORMAT_R16_SINT, 2},
    {VK_FORMAT_R8G8B8A8_UNORM, 4}, {VK_FORMAT_B8G8R8A8_UNORM, 4}, {VK_FORMAT_R8G8B8A8_SRGB, 4}, {VK_FORMAT_R8G8B8A8_UINT, 4},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4}, {VK_FORMAT_B10G11R11_UFLOAT_PACK32, 4}, {VK_FORMAT_R16G16_UNORM, 4}, {VK_FORMAT_R32_SFLOAT, 4},
    {VK_FORMAT_R16G16B16A16_SFLOAT, 8}, {VK_FORMAT_R16G16B16A16_UINT, 8}, {VK_FORMAT_R32G32_UINT, 8}, {VK_FORMAT_R32G32B32A32_SINT, 16},
  };
  for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) copies(formats[i].format, formats[i].size);
  VkClearColorValue color = {.float32 = {1, 0.5f, 0.25f, 0.125f}}, whole = {.uint32 = {1, 200, 3, 0xffffffff}};
  clears(VK_FORMAT_R8G8B8A8_UNORM, 4, color, (uint8_t[]){255, 128, 64, 32});
  clears(VK_FORMAT_B8G8R8A8_UNORM, 4, color, (uint8_t[]){64, 128, 255, 32});
  clears(VK_FORMAT_R8G8B8A8_SRGB, 4, color, (uint8_t[]){255, 188, 137, 32});
  clears(VK_FORMAT_R16G16B16A16_SFLOAT, 8, color, (uint16_t[]){0x3c00, 0x3800, 0x3400, 0x3000});
  clears(VK_FORMAT_R32_SFLOAT, 4, color, (float[]){1});
  clears(VK_FORMAT_R8_UINT, 1, whole, (uint8_t[]){1});
  clears(VK_FORMAT_R32G32B32A32_UINT, 16, whole, whole.uint32);
  large(VK_FORMAT_R8G8B8A8_UNORM, 4, 0);
  large(VK_FORMAT_R16_UINT, 2, 0);
  large(VK_FORMAT_R32G32_UINT, 8, 0);
  large(VK_FORMAT_R8G8B8A8_UNORM, 4, 1);
  large(VK_FORMAT_R32G32B32A32_UINT, 16, 1);
  blits();
  depths(VK_FORMAT_D16_UNORM, 2, 1, 0);
  depths(VK_FORMAT_D32_SFLOAT, 4, 1, 0);
  depths(VK_FORMAT_S8_UINT, 0, 0, 1);
  depths(VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 1, 1);
  puts(wrong ? "something is wrong" : "all right");
  return wrong != 0;
}
