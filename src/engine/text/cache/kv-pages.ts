// KV pages on the device: how many fit, their buffers layer by layer, and their first clearing.

import { option, say } from '../../../files/message.ts';
import { EngineError } from '../../../files/error.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';
import { PAGE_TOKENS, type KvFormat, type KvPages, type PageTable } from '../../../kernels/batch.ts';
import type { KvState, LayerState } from '../../../models/text/architecture.ts';
import { pagesFor } from './pages.ts';

/** Pages cleared at a time. */
const CLEAR_RUN = 64;
/** Tokens that the pages hold where nobody says otherwise; one full context fits in any case. */
const TOKENS = 65536;
/** The least that is worth running. */
export const LEAST_PAGES = 2;

/** Pages that would ever be of use: a context for each slot, within what one binding spans. */
export function usefulPages(
  device: Device,
  layers: readonly LayerState[],
  format: KvFormat,
  { contextLength, totalTokens, slots }: { contextLength: number; totalTokens: number; slots: number },
): number {
  const tokens = Math.max(contextLength, Math.min(contextLength * slots, TOKENS));
  return Math.min(
    pagesFor(tokens),
    Math.max(pagesFor(totalTokens), LEAST_PAGES),
    ...kvLayers(layers).map((layer) =>
      Math.floor(device.capabilities.bindingLimit / layerBytes(layer, format)),
    ),
  );
}

/** Bytes of a page's keys (or values) in one layer. */
function layerBytes({ kvHeads, dims, format }: KvState, usual: KvFormat): number {
  return PAGE_TOKENS * kvHeads * dims * ((format ?? usual) === 'f16' ? 2 : 4);
}

function kvLayers(layers: readonly LayerState[]): KvState[] {
  return layers.filter((layer) => layer.kind === 'kv');
}

/** Bytes of a page, keys and values of all layers. */
export function pageBytes(layers: readonly LayerState[], format: KvFormat): number {
  return kvLayers(layers).reduce((sum, layer) => sum + 2 * layerBytes(layer, format), 0);
}

/** Pages that `free` bytes leave room for, one more being kept for copies; negative where they hold none. */
export function pagesWithin(free: number, layers: readonly LayerState[], format: KvFormat): number {
  return Math.floor(free / pageBytes(layers, format)) - 1;
}

/** Pages that the memory budget leaves room for beside `taken` bytes. */
export function fittingPages(
  device: Device,
  layers: readonly LayerState[],
  format: KvFormat,
  taken = 0,
): number {
  const perPage = pageBytes(layers, format);
  const free = device.memoryBudget - device.memoryUsed - taken;
  const pages = pagesWithin(free, layers, format);
  if (pages < LEAST_PAGES) {
    throw new EngineError(
      'out_of_memory',
      say`after the weights ${bytesText(Math.max(free, 0))} of the memory budget of ${bytesText(device.memoryBudget)} are left, and ${LEAST_PAGES * PAGE_TOKENS} tokens of context need ${bytesText((LEAST_PAGES + 1) * perPage)}: raise ${option('memoryBudget')} or choose ${option('quantization')} int4`,
    );
  }
  return pages;
}

/** Pages of a layer's keys and values, whose places in a step `table` holds. */
export function allocateKv(
  device: Device,
  layer: KvState,
  label: string,
  { format: usual, pages, table }: { format: KvFormat; pages: number; table: PageTable },
): KvPages {
  const region = (what: string): Region => {
    const buffer = device.allocate('kv', `${what} of ${label}`, pages * layerBytes(layer, usual));
    return { buffer, offset: 0, size: buffer.size };
  };
  return {
    kind: 'kv',
    format: layer.format ?? usual,
    table,
    keys: region('keys'),
    values: region('values'),
  };
}

export interface PageCleaner {
  /** Before a step that uses pages below `touched`: those that were never written are cleared. */
  ahead(touched: number): void;
  /** Clears pages that hold what is not a number. */
  clear(pages: readonly number[]): void;
  /** After an error that may have left anything in any page: every page counts as never written again. */
  restart(): void;
}

/** No mask takes NaN away (zero times NaN is NaN), so pages must not hold any when they come into use. */
export function createPageCleaner(device: Device, kv: readonly KvPages[], pages: number): PageCleaner {
  let cleared = 0;
  const clear = (runs: readonly (readonly [first: number, count: number])[]): void => {
    const encoder = device.gpu.createCommandEncoder();
    for (const { buffer } of kv.flatMap(({ keys, values }) => [keys, values])) {
      const bytes = buffer.size / pages;
      for (const [first, count] of runs) encoder.clearBuffer(buffer, first * bytes, count * bytes);
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
    clear(dirty) {
      if (dirty.length > 0) clear(dirty.map((page) => [page, 1]));
    },
    restart() {
      cleared = 0;
    },
  };
}
