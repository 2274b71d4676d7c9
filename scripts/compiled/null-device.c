// A Vulkan driver around RADV, the one of AMD's GPUs, for a GPU that is not there. RADV's null device (RADV_FORCE_FAMILY) compiles pipelines and
// crashes when commands are recorded, as Dawn does when it opens a device. Here commands, submits and waits do nothing and succeed.
//   SVC_RADV     path of libvulkan_radeon.so
//   tcc -shared -nostdlib -o null-device.so null-device.c        (declares what it uses, so that no header is needed)

typedef void (*Function)(void);
typedef Function (*Lookup)(void *, const char *);

void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
char *getenv(const char *name);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, unsigned long);

static Lookup instance_function, physical_function, device_function;

static int load(void) {
  if (instance_function) return 1;
  const char *path = getenv("SVC_RADV");
  void *library = path ? dlopen(path, 2) : 0; // 2: RTLD_NOW
  if (!library) return 0;
  physical_function = (Lookup)dlsym(library, "vk_icdGetPhysicalDeviceProcAddr");
  instance_function = (Lookup)dlsym(library, "vk_icdGetInstanceProcAddr");
  return instance_function != 0;
}

/** VK_SUCCESS, whatever the arguments. */
static int succeed(void) { return 0; }

/** A semaphore has always reached the value that is waited for. */
static int tell_reached(void *device, void *semaphore, unsigned long *value) {
  *value = ~0ul / 4;
  return 0;
}

static const char *counters[] = {"vkGetSemaphoreCounterValue", "vkGetSemaphoreCounterValueKHR", 0};
static const char *idle[] = {
    "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkResetCommandBuffer", "vkResetCommandPool", "vkQueueSubmit", "vkQueueSubmit2",
    "vkQueueSubmit2KHR", "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkGetFenceStatus", "vkWaitForFences", "vkResetFences",
    "vkGetQueryPoolResults", "vkWaitSemaphores", "vkWaitSemaphoresKHR", "vkSignalSemaphore", "vkSignalSemaphoreKHR", 0};

static int is_in(const char **names, const char *name) {
  for (; *names; names++)
    if (!strcmp(*names, name)) return 1;
  return 0;
}

static Function replaced(const char *name, Function real) {
  if (!real) return 0;
  if (!strncmp(name, "vkCmd", 5) || is_in(idle, name)) return (Function)succeed;
  if (is_in(counters, name)) return (Function)tell_reached;
  return real;
}

static Function of_device(void *device, const char *name) { return replaced(name, device_function(device, name)); }

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
  if (!load()) return 0;
  Function real = instance_function(instance, name);
  if (!real || strcmp(name, "vkGetDeviceProcAddr")) return replaced(name, real);
  device_function = (Lookup)real;
  return (Function)of_device;
}

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
  return load() && physical_function ? physical_function(instance, name) : 0;
}

int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version) {
  if (*version > 5) *version = 5;
  return 0;
}
