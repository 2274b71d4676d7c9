// KV pages on the device: how many fit, their buffers layer by layer, and their first clearing.

import { EngineError } from '../../../files/error.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';
import { PAGE_TOKENS, type KvFormat, type KvPages } from '../../../kernels/batch.ts';
import type { LlamaConfig } from '../../../models/text/llama-config.ts';
import { pagesFor } from '../scheduler.ts';

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
        `${LEAST_PAGES * PAGE_TOKENS} tokens of context need ${bytesText((LEAST_PAGES + 1) * perPage)}: raise \`memoryBudget\` or choose \`quantization\` int4`,
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

export interface PageCleaner {
  /** Before a step that uses pages below `touched`: those that were never written are cleared. */
  ahead(touched: number): void;
  /** Clears pages that hold what is not a number. */
  clear(pages: readonly number[]): void;
}

/** No mask takes NaN away (zero times NaN is NaN), so pages must not hold any when they come into use. */
export function createPageCleaner(
  device: Device,
  kv: readonly KvPages[],
  pages: number,
  bytes: number,
): PageCleaner {
  let cleared = 0;
  const clear = (runs: readonly (readonly [first: number, count: number])[]): void => {
    const encoder = device.gpu.createCommandEncoder();
    for (const { keys, values } of kv) {
      for (const [first, count] of runs) {
        encoder.clearBuffer(keys.buffer, first * bytes, count * bytes);
        encoder.clearBuffer(values.buffer, first * bytes, count * bytes);
      }
    }
    device.gpu.queue.submit([encoder.finish()]);
  };
  return {
    ahead(touched) {
      if (touched <= cleared) return;
      const to = Math.min(pages, Math.ceil(touched / CLEAR_RUN) * CLEAR_RUN);
      clear([[cleared, to - cleared]]);
      cleared = to;
    },
    clear: (dirty) => clear(dirty.map((page) => [page, 1])),
  };
}
