// What a user can do where the memory of a device does not suffice, in the names of the options that models are opened with.

import { option, say } from '../files/message.ts';
import type { MemoryRemedies } from '../gpu/memory.ts';

export const MEMORY_REMEDIES: MemoryRemedies = {
  budget: say`raise ${option('memoryBudget')}, ask for less (a shorter context, a smaller image) or choose ${option('quantization')} int4`,
  buffer: say`choose a smaller model or ${option('quantization')} int4`,
  host: say`leave out options that keep weights in host memory, close other programs, or choose ${option('quantization')} int4`,
  device: (bytes) =>
    say`lower ${option('memoryBudget')} to ${Math.floor(bytes / 2 ** 20)}MiB, which the GPU held, or choose ${option('quantization')} int4`,
};
