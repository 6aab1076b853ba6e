// One Vulkan feature after the other, each with a device of its own, and whether its result arrives: vulkan QUEUE_FAMILY.
// Says "all right" at the end if all did. clients.rs compiles and runs it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>
#define C(x) do { VkResult r_ = (x); if (r_) { printf("FAIL line %d: %s: %d\n", __LINE__, #x, r_); exit(1); } } while (0)
#define S(T) .sType = VK_STRUCTURE_TYPE_##T
static VkPhysicalDevice phys; static VkDevice dev; static VkQueue queue; static VkCommandPool pool; static VkBuffer buf[2]; static uint32_t *map[2]; enum { N = 1 << 16 };
static VkCommandBuffer begin(void) {
  VkCommandBuffer c; C(vkAllocateCommandBuffers(dev, &(VkCommandBufferAllocateInfo){S(COMMAND_BUFFER_ALLOCATE_INFO), .commandPool = pool, .commandBufferCount = 1}, &c));
  C(vkBeginCommandBuffer(c, &(VkCommandBufferBeginInfo){S(COMMAND_BUFFER_BEGIN_INFO)})); return c;
}
static void submit(VkCommandBuffer c, const void *next, int ns, VkSemaphore *signal, int nw, VkSemaphore *wait) {
  VkFence f; VkPipelineStageFlags at[] = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT}; C(vkEndCommandBuffer(c)); C(vkCreateFence(dev, &(VkFenceCreateInfo){S(FENCE_CREATE_INFO)}, 0, &f));
  C(vkQueueSubmit(queue, 1, &(VkSubmitInfo){S(SUBMIT_INFO), .pNext = next, .commandBufferCount = 1, .pCommandBuffers = &c, .signalSemaphoreCount = ns, .pSignalSemaphores = signal, .waitSemaphoreCount = nw, .pWaitSemaphores = wait, .pWaitDstStageMask = at}, f));
  C(vkWaitForFences(dev, 1, &f, 1, 20000000000ull));
}
static int wrong;
static void check(const char *what, int ok) { printf("%s %s\n", ok ? "ok" : "WRONG", what); wrong += !ok; }
static void barrier(VkCommandBuffer c) {
  VkMemoryBarrier m = {S(MEMORY_BARRIER), .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &m, 0, 0, 0, 0);
}
static VkEvent host_event; static VkSemaphore host_semaphore;
static void *later(void *x) { usleep(100000); if (host_event) C(vkSetEvent(dev, host_event)); else C(vkSignalSemaphore(dev, &(VkSemaphoreSignalInfo){S(SEMAPHORE_SIGNAL_INFO), .semaphore = host_semaphore, .value = 5})); return x; }
static void one_check(const char *what, uint32_t family) {
  uint32_t one = 1; VkInstance in;
  C(vkCreateInstance(&(VkInstanceCreateInfo){S(INSTANCE_CREATE_INFO), .pApplicationInfo = &(VkApplicationInfo){S(APPLICATION_INFO), .apiVersion = VK_API_VERSION_1_2}}, 0, &in));
  if (vkEnumeratePhysicalDevices(in, &one, &phys) < 0 || !one) { printf("no device\n"); exit(1); }
  float prio = 1; VkPhysicalDeviceVulkan12Features f12 = {S(PHYSICAL_DEVICE_VULKAN_1_2_FEATURES), .timelineSemaphore = 1}; VkPhysicalDeviceFeatures feat = {.pipelineStatisticsQuery = 1};
  const char *extensions[] = {"VK_EXT_external_memory_host"};
  C(vkCreateDevice(phys, &(VkDeviceCreateInfo){S(DEVICE_CREATE_INFO), .pNext = &f12, .queueCreateInfoCount = 1, .pQueueCreateInfos = &(VkDeviceQueueCreateInfo){S(DEVICE_QUEUE_CREATE_INFO), .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &prio}, .enabledExtensionCount = 1, .ppEnabledExtensionNames = extensions, .pEnabledFeatures = &feat}, 0, &dev));
  vkGetDeviceQueue(dev, family, 0, &queue); C(vkCreateCommandPool(dev, &(VkCommandPoolCreateInfo){S(COMMAND_POOL_CREATE_INFO), .queueFamilyIndex = family}, 0, &pool));
  VkPhysicalDeviceMemoryProperties mp; vkGetPhysicalDeviceMemoryProperties(phys, &mp);
  for (int i = 0; i < 2; i++) {
    VkMemoryRequirements q; VkDeviceMemory m; C(vkCreateBuffer(dev, &(VkBufferCreateInfo){S(BUFFER_CREATE_INFO), .size = N, .usage = 0x1ff}, 0, &buf[i])); vkGetBufferMemoryRequirements(dev, buf[i], &q);
    uint32_t t = 0; while (!(q.memoryTypeBits >> t & 1) || (mp.memoryTypes[t].propertyFlags & 6) != 6) t++;
    C(vkAllocateMemory(dev, &(VkMemoryAllocateInfo){S(MEMORY_ALLOCATE_INFO), .allocationSize = q.size, .memoryTypeIndex = t}, 0, &m)); C(vkBindBufferMemory(dev, buf[i], m, 0)); C(vkMapMemory(dev, m, 0, N, 0, (void **)&map[i]));
    for (int k = 0; k < N / 4; k++) map[i][k] = k * 3 + i;
  }
  VkCommandBuffer c = begin(); VkQueryPool qp; VkEvent ev; uint64_t r[16] = {0}; int ok = 1; pthread_t th;
  if (!strcmp(what, "fill")) { vkCmdFillBuffer(c, buf[0], 0, 2048, 0x12345678); vkCmdFillBuffer(c, buf[0], 4096, N - 4096, 7); barrier(c); submit(c, 0, 0, 0, 0, 0); // small: the command processor; large: a shader
    check("small fill", map[0][0] == 0x12345678 && map[0][511] == 0x12345678 && map[0][512] == 512 * 3); for (int k = 1024; k < N / 4; k++) ok &= map[0][k] == 7; check("large fill", ok); }
  else if (!strcmp(what, "copy")) { VkBufferCopy a = {0, 256, 1024}, b = {4096, 4096, N - 4096}; vkCmdCopyBuffer(c, buf[0], buf[1], 1, &a); vkCmdCopyBuffer(c, buf[0], buf[1], 1, &b); barrier(c); submit(c, 0, 0, 0, 0, 0);
    check("small copy", map[1][64] == 0 && map[1][65] == 3); for (int k = 1024; k < N / 4; k++) ok &= map[1][k] == (uint32_t)k * 3; check("large copy", ok); }
  else if (!strcmp(what, "update")) { vkCmdUpdateBuffer(c, buf[0], 16, 64, map[1]); barrier(c); submit(c, 0, 0, 0, 0, 0); check("update", map[0][4] == 1 && map[0][19] == 46); }
  else if (!strcmp(what, "timestamp")) { C(vkCreateQueryPool(dev, &(VkQueryPoolCreateInfo){S(QUERY_POOL_CREATE_INFO), .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2}, 0, &qp)); vkCmdResetQueryPool(c, qp, 0, 2);
    vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, qp, 0); vkCmdFillBuffer(c, buf[0], 0, 64, 1); vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, qp, 1); submit(c, 0, 0, 0, 0, 0);
    C(vkGetQueryPoolResults(dev, qp, 0, 2, sizeof r, r, 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT)); check("timestamps", r[0] && r[1] >= r[0]); }
  else if (!strcmp(what, "occlusion") || !strcmp(what, "statistics")) { int st = *what == 's';
    C(vkCreateQueryPool(dev, &(VkQueryPoolCreateInfo){S(QUERY_POOL_CREATE_INFO), .queryType = st ? VK_QUERY_TYPE_PIPELINE_STATISTICS : VK_QUERY_TYPE_OCCLUSION, .queryCount = 1, .pipelineStatistics = st ? 0x7ff : 0}, 0, &qp));
    vkCmdResetQueryPool(c, qp, 0, 1); vkCmdBeginQuery(c, qp, 0, 0); vkCmdEndQuery(c, qp, 0); submit(c, 0, 0, 0, 0, 0); C(vkGetQueryPoolResults(dev, qp, 0, 1, sizeof r, r, 8 * 11, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT)); check("query", r[0] == 0); }
  else if (!strcmp(what, "event")) { C(vkCreateEvent(dev, &(VkEventCreateInfo){S(EVENT_CREATE_INFO)}, 0, &ev)); vkCmdFillBuffer(c, buf[0], 0, 64, 9); vkCmdSetEvent(c, ev, VK_PIPELINE_STAGE_TRANSFER_BIT);
    vkCmdWaitEvents(c, 1, &ev, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, 0, 0, 0, 0); vkCmdFillBuffer(c, buf[0], 64, 64, 10); submit(c, 0, 0, 0, 0, 0);
    check("event", vkGetEventStatus(dev, ev) == VK_EVENT_SET && map[0][0] == 9 && map[0][16] == 10); }
  else if (!strcmp(what, "hostevent")) { C(vkCreateEvent(dev, &(VkEventCreateInfo){S(EVENT_CREATE_INFO)}, 0, &host_event)); vkCmdWaitEvents(c, 1, &host_event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, 0, 0, 0, 0);
    vkCmdFillBuffer(c, buf[0], 0, 64, 11); pthread_create(&th, 0, later, 0); submit(c, 0, 0, 0, 0, 0); check("event set by the host while the queue waits", map[0][0] == 11); }
  else if (!strcmp(what, "timeline")) { VkSemaphoreTypeCreateInfo t = {S(SEMAPHORE_TYPE_CREATE_INFO), .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE}; VkSemaphore s; C(vkCreateSemaphore(dev, &(VkSemaphoreCreateInfo){S(SEMAPHORE_CREATE_INFO), .pNext = &t}, 0, &s)); host_semaphore = s;
    uint64_t w = 5, g = 6, v; VkTimelineSemaphoreSubmitInfo ti = {S(TIMELINE_SEMAPHORE_SUBMIT_INFO), .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &w, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &g};
    vkCmdFillBuffer(c, buf[0], 0, 64, 12); pthread_create(&th, 0, later, 0); submit(c, &ti, 1, &s, 1, &s); C(vkGetSemaphoreCounterValue(dev, s, &v)); check("timeline semaphore signalled by the host", v == 6 && map[0][0] == 12); }
  else if (!strcmp(what, "semaphore")) { VkSemaphore s; C(vkCreateSemaphore(dev, &(VkSemaphoreCreateInfo){S(SEMAPHORE_CREATE_INFO)}, 0, &s)); vkCmdFillBuffer(c, buf[0], 0, 64, 1); submit(c, 0, 1, &s, 0, 0); c = begin(); vkCmdFillBuffer(c, buf[0], 0, 64, 2); submit(c, 0, 0, 0, 1, &s); check("semaphore", map[0][0] == 2); }
  else if (!strcmp(what, "queryresults")) { C(vkCreateQueryPool(dev, &(VkQueryPoolCreateInfo){S(QUERY_POOL_CREATE_INFO), .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1}, 0, &qp)); vkCmdResetQueryPool(c, qp, 0, 1);
    vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, qp, 0); vkCmdCopyQueryPoolResults(c, qp, 0, 1, buf[0], 0, 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT); barrier(c); submit(c, 0, 0, 0, 0, 0); check("query results copied by a shader", map[0][1] != 3); }
  else if (!strcmp(what, "hostmemory")) { // Memory of the program as a buffer: both sides write other bytes of one page.
    uint32_t *own = aligned_alloc(4096, N); for (int k = 0; k < N / 4; k++) own[k] = k * 5;
    VkBuffer host; VkDeviceMemory m; VkExternalMemoryBufferCreateInfo e = {S(EXTERNAL_MEMORY_BUFFER_CREATE_INFO), .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    C(vkCreateBuffer(dev, &(VkBufferCreateInfo){S(BUFFER_CREATE_INFO), .pNext = &e, .size = N, .usage = 3}, 0, &host));
    VkMemoryHostPointerPropertiesEXT hp = {S(MEMORY_HOST_POINTER_PROPERTIES_EXT)}; C(((PFN_vkGetMemoryHostPointerPropertiesEXT)vkGetDeviceProcAddr(dev, "vkGetMemoryHostPointerPropertiesEXT"))(dev, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, own, &hp));
    uint32_t t = 0; while (!(hp.memoryTypeBits >> t & 1)) t++;
    VkImportMemoryHostPointerInfoEXT ip = {S(IMPORT_MEMORY_HOST_POINTER_INFO_EXT), .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, .pHostPointer = own};
    C(vkAllocateMemory(dev, &(VkMemoryAllocateInfo){S(MEMORY_ALLOCATE_INFO), .pNext = &ip, .allocationSize = N, .memoryTypeIndex = t}, 0, &m)); C(vkBindBufferMemory(dev, host, m, 0));
    VkBufferCopy all = {0, 0, N}, part = {0, 64, 128}; vkCmdCopyBuffer(c, host, buf[0], 1, &all); barrier(c); submit(c, 0, 0, 0, 0, 0); for (int k = 0; k < N / 4; k++) ok &= map[0][k] == (uint32_t)k * 5; check("memory of the program is read", ok);
    own[15] = 77; own[48] = 78; c = begin(); vkCmdCopyBuffer(c, buf[1], host, 1, &part); vkCmdCopyBuffer(c, host, buf[0], 1, &(VkBufferCopy){0, 0, 64}); barrier(c); submit(c, 0, 0, 0, 0, 0);
    check("memory of the program is written", own[16] == 1 && own[47] == 31 * 3 + 1 && own[15] == 77 && own[48] == 78 && own[49] == 49 * 5 && map[0][15] == 77);
    vkDestroyBuffer(dev, host, 0); vkFreeMemory(dev, m, 0); free(own); }
  host_event = 0; host_semaphore = 0;
  vkDestroyDevice(dev, 0); vkDestroyInstance(in, 0);
}
int main(int argc, char **argv) {
  static const char *names[] = {"fill", "copy", "update", "timestamp", "occlusion", "statistics", "event", "hostevent", "timeline", "semaphore", "queryresults", "hostmemory"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) one_check(names[i], argc > 1 ? atoi(argv[1]) : 0);
  puts(wrong ? "something is wrong" : "all right");
  return wrong != 0;
}
