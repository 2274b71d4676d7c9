// gpu/free-memory.ts in a page, which is not told what memory the host has free.

/** Returns bytes. */
export const freeHostMemory = (): number => 0;
