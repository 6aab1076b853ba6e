// How long a submission with one small dispatch takes from vkQueueSubmit to its fence, on each family of queues: the least of 3000, the
// tenth hundredth, the median and the ninetieth. Each submission adds 1 to 64 words, which are looked at in the end.
//
//     cc -O2 submit_latency.c -o submit_latency -lvulkan
//     warpjit exec --chip polaris10 -- ./submit_latency
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <vulkan/vulkan.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        VkResult result_ = (call);                                                                                     \
        if (result_ != VK_SUCCESS) {                                                                                   \
            printf("FAILED: line %d: %d\n", __LINE__, result_);                                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { COUNT = 3000, FIRST = 200 };

// void main() { words[gl_GlobalInvocationID.x] += 1; } with groups of 64.
static const uint32_t code[] = {
    0x7230203, 0x10000, 0x70000, 0x16, 0x0, 0x20011, 0x1, 0x3000e, 0x0, 0x1, 0x6000f,
    0x5, 0x1, 0x6e69616d, 0x0, 0x2, 0x60010, 0x1, 0x11, 0x40, 0x1, 0x1,
    0x40047, 0x2, 0xb, 0x1c, 0x40047, 0x3, 0x6, 0x4, 0x30047, 0x4, 0x3,
    0x50048, 0x4, 0x0, 0x23, 0x0, 0x40047, 0x5, 0x22, 0x0, 0x40047, 0x5,
    0x21, 0x0, 0x20013, 0x6, 0x30021, 0x7, 0x6, 0x40015, 0x8, 0x20, 0x0,
    0x40017, 0x9, 0x8, 0x3, 0x40020, 0xa, 0x1, 0x9, 0x40020, 0xb, 0x1,
    0x8, 0x4003b, 0xa, 0x2, 0x1, 0x3001d, 0x3, 0x8, 0x3001e, 0x4, 0x3,
    0x40020, 0xc, 0x2, 0x4, 0x4003b, 0xc, 0x5, 0x2, 0x40020, 0xd, 0x2,
    0x8, 0x4002b, 0x8, 0xe, 0x0, 0x4002b, 0x8, 0xf, 0x1, 0x50036, 0x6,
    0x1, 0x0, 0x7, 0x200f8, 0x10, 0x50041, 0xb, 0x11, 0x2, 0xe, 0x4003d,
    0x8, 0x12, 0x11, 0x60041, 0xd, 0x13, 0x5, 0xe, 0x12, 0x4003d, 0x8,
    0x14, 0x13, 0x50080, 0x8, 0x15, 0x14, 0xf, 0x3003e, 0x13, 0x15, 0x100fd,
    0x10038,
};

struct Buffer {
    VkBuffer handle;
    uint32_t *words;
};

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

// Sixty-four words that host and card see: 0, 1, 2 and so on.
static struct Buffer make_buffer(VkPhysicalDevice physical, VkDevice device) {
    struct Buffer buffer;
    VkBufferCreateInfo info = {
        VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 256, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    CHECK(vkCreateBuffer(device, &info, NULL, &buffer.handle));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer.handle, &needs);
    VkPhysicalDeviceMemoryProperties kinds;
    vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    for (uint32_t n = kinds.memoryTypeCount; n-- > 0;) {
        bool is_wanted = (kinds.memoryTypes[n].propertyFlags & wanted) == wanted;
        if (needs.memoryTypeBits >> n & 1 && is_wanted) allocate.memoryTypeIndex = n;
    }
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device, &allocate, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer.handle, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, 256, 0, (void **)&buffer.words));
    for (int n = 0; n < 64; n++) buffer.words[n] = n;
    return buffer;
}

// Commands that bind the program with a buffer and run one group.
static VkCommandBuffer make_commands(VkDevice device, uint32_t family, VkBuffer buffer) {
    VkDescriptorSetLayoutBinding binding = {
        0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo set_info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetLayout set_layout;
    CHECK(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout));
    VkPipelineLayoutCreateInfo layout_info = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout};
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &layout_info, NULL, &layout));
    VkShaderModuleCreateInfo module_info = {
        VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code, .pCode = code};
    VkComputePipelineCreateInfo pipeline_info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout};
    pipeline_info.stage = (VkPipelineShaderStageCreateInfo){VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                            .stage = VK_SHADER_STAGE_COMPUTE_BIT, .pName = "main"};
    CHECK(vkCreateShaderModule(device, &module_info, NULL, &pipeline_info.stage.module));
    VkPipeline pipeline;
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline_info, NULL, &pipeline));

    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo sets_info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorPool sets;
    CHECK(vkCreateDescriptorPool(device, &sets_info, NULL, &sets));
    VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = sets,
                                            .descriptorSetCount = 1, .pSetLayouts = &set_layout};
    VkDescriptorSet set;
    CHECK(vkAllocateDescriptorSets(device, &allocate, &set));
    VkDescriptorBufferInfo whole = {buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &whole};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);

    VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    VkCommandPool pool;
    CHECK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo commands_info = {
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &commands_info, &commands));
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK(vkBeginCommandBuffer(commands, &begin));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
    CHECK(vkEndCommandBuffer(commands));
    return commands;
}

static void measure(VkPhysicalDevice physical, uint32_t family, const char *name) {
    float priority = 1;
    VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family,
                                      .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo device_info = {
        VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
    VkDevice device;
    CHECK(vkCreateDevice(physical, &device_info, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, family, 0, &queue);
    struct Buffer buffer = make_buffer(physical, device);
    VkCommandBuffer commands = make_commands(device, family, buffer.handle);
    VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    CHECK(vkCreateFence(device, &fence_info, NULL, &fence));
    VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    static double took[COUNT];
    for (int n = -FIRST; n < COUNT; n++) {
        double start = now();
        CHECK(vkQueueSubmit(queue, 1, &submit, fence));
        CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
        if (n >= 0) took[n] = now() - start;
        CHECK(vkResetFences(device, 1, &fence));
    }
    for (int n = 0; n < 64; n++) {
        if (buffer.words[n] != (uint32_t)(n + FIRST + COUNT)) {
            printf("FAILED: word %d is %u\n", n, buffer.words[n]);
            exit(1);
        }
    }
    qsort(took, COUNT, sizeof *took, ascending);
    printf("%s: least %.1f us, tenth %.1f, median %.1f, ninetieth %.1f\n", name, took[0], took[COUNT / 10],
           took[COUNT / 2], took[COUNT * 9 / 10]);
}

int main(void) {
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    uint32_t count = 1;
    VkPhysicalDevice physical;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    VkQueueFamilyProperties families[8];
    count = 8;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t family = 0; family < count; family++) {
        VkQueueFlags flags = families[family].queueFlags;
        const char *name = flags & VK_QUEUE_GRAPHICS_BIT ? "graphics queue" : "compute queue";
        if (flags & VK_QUEUE_COMPUTE_BIT) measure(physical, family, name);
    }
    return 0;
}
