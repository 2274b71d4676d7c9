// KV pages on the device: how many fit, their buffers layer by layer, and their first clearing.

import { EngineError } from '../../files/error.ts';
import { bytesText } from '../../files/bytes-text.ts';
import type { Device } from '../../gpu/device.ts';
import type { Region } from '../../gpu/tensor.ts';
import { PAGE_TOKENS, type KvFormat, type KvPages } from '../../kernels/batch.ts';
import type { LlamaConfig } from '../../models/llama-config.ts';
import { pagesFor } from './scheduler.ts';

/** Pages cleared at a time. */
const CLEAR_RUN = 64;
/** Tokens that the pages hold where nobody says otherwise; one full context fits in any case. */
const TOKENS = 65536;
/** The least that is worth running. */
const LEAST_PAGES = 2;

/** Pages that would ever be of use: a context for each slot, within what one binding spans. */
export function usefulPages(
  device: Device,
  config: LlamaConfig,
  format: KvFormat,
  { contextLength, totalTokens, slots }: { contextLength: number; totalTokens: number; slots: number },
): number {
  const tokens = Math.max(contextLength, Math.min(contextLength * slots, TOKENS));
  return Math.min(
    pagesFor(tokens),
    Math.max(pagesFor(totalTokens), LEAST_PAGES),
    Math.floor(device.capabilities.bindingLimit / pageBytes(config, format)),
  );
}

/** Bytes of a page's keys (or values) in one layer. */
export function pageBytes(config: LlamaConfig, format: KvFormat): number {
  return PAGE_TOKENS * config.heads.kvHeads * config.heads.dims * (format === 'f16' ? 2 : 4);
}

/** Pages that the memory budget leaves room for. */
export function fittingPages(device: Device, config: LlamaConfig, format: KvFormat): number {
  const perPage = 2 * config.windows.length * pageBytes(config, format);
  const free = device.memoryBudget - device.memoryUsed;
  const pages = Math.floor(free / perPage) - 1;
  if (pages < LEAST_PAGES) {
    throw new EngineError(
      'out_of_memory',
      `after the weights ${bytesText(Math.max(free, 0))} of the memory budget of ${bytesText(device.memoryBudget)} are left, and ` +
        `${LEAST_PAGES * PAGE_TOKENS} tokens of context need ${bytesText((LEAST_PAGES + 1) * perPage)}: raise --memory-budget or choose --quantization int4`,
    );
  }
  return pages;
}

export function allocateKv(device: Device, config: LlamaConfig, format: KvFormat, pages: number): KvPages[] {
  const region = (label: string): Region => {
    const buffer = device.allocate('kv', label, pages * pageBytes(config, format));
    return { buffer, offset: 0, size: buffer.size };
  };
  return config.windows.map((_, i) => ({
    format,
    keys: region(`keys of layer ${i}`),
    values: region(`values of layer ${i}`),
  }));
}

/** Pages that were never written may hold NaN, which no mask takes away: returns what clears them as they come into use. */
export function clearedAhead(
  device: Device,
  kv: readonly KvPages[],
  pages: number,
  bytes: number,
): (touched: number) => void {
  let cleared = 0;
  return (touched) => {
    if (touched <= cleared) return;
    const to = Math.min(pages, Math.ceil(touched / CLEAR_RUN) * CLEAR_RUN);
    const encoder = device.gpu.createCommandEncoder();
    for (const { keys, values } of kv) {
      encoder.clearBuffer(keys.buffer, cleared * bytes, (to - cleared) * bytes);
      encoder.clearBuffer(values.buffer, cleared * bytes, (to - cleared) * bytes);
    }
    device.gpu.queue.submit([encoder.finish()]);
    cleared = to;
  };
}
