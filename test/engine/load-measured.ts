// A random model of some size, opened in a process of its own, and what that cost.

import { execFileSync } from 'node:child_process';
import { type LlamaSize, randomLlama } from './checkpoint-folder.ts';
import type { MemoryOfLoading } from './load-memory.ts';
import { nodeArgs } from '../started.ts';

const script = new URL('load-memory.ts', import.meta.url);

export interface MeasuredLoading extends MemoryOfLoading {
  /** Bytes of the checkpoint. */
  stored: number;
  /** Resident bytes at the peak beside those of the device. */
  extra: number;
}

export function measureLoading(size: LlamaSize): MeasuredLoading {
  const folder = randomLlama(size);
  try {
    const stdout = execFileSync(process.execPath, nodeArgs(script, folder.path), {
      encoding: 'utf8',
    });
    const measured = JSON.parse(stdout) as MemoryOfLoading;
    const { before, peak, device } = measured;
    return { ...measured, stored: folder.bytes, extra: peak - before - device };
  } finally {
    folder.remove();
  }
}
