// KV pages on the device: how many fit, with copies of fixed states beside them, and their first clearing.

import { option, say } from '../../../files/message.ts';
import { MemoryError } from '../../../files/error.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import type { Device } from '../../../gpu/device.ts';
import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { LayerState } from '../../../models/text/blocks/architecture.ts';
import { slotBytes, stateBytes, type PageBuffer } from './layer-stores.ts';
import type { PageLayout } from './page-layout.ts';
import { copiesBytes } from './state-mover.ts';

/** Pages cleared at a time. */
const CLEAR_RUN = 64;
/** Tokens that the pages hold by default; one full context fits in any case. */
const TOKENS = 65536;
/** Least copies of fixed states, of a model that has them. */
const LEAST_COPIES = 4;
/** Pages to a copy of fixed states, if copies are small. */
const COPY_PAGES = 8;
/** Most bytes of copies of fixed states, as a share of the pages' bytes. */
const COPY_SHARE = 1 / 2;
/** Least pages of each group of layers with which a model runs. */
const LEAST_PAGES = 2;

/** Pages that can ever be of use: a context for each slot, within the size of one binding. */
export function usefulPages(
  device: Device,
  layout: PageLayout,
  { contextLength, totalTokens, slots }: { contextLength: number; totalTokens: number; slots: number },
): number {
  const tokens = Math.max(contextLength, Math.min(contextLength * slots, TOKENS));
  return Math.min(
    layout.usefulPages(tokens, slots),
    Math.max(layout.usefulPages(totalTokens, slots), leastPages(layout)),
    ...layout.lanes.map((bytes) => Math.floor(device.capabilities.bindingLimit / bytes)),
  );
}

/** Least pages with which a model runs. */
export function leastPages({ groups }: PageLayout): number {
  return LEAST_PAGES * groups.length;
}

/** Pages that `free` bytes have room for, one more being kept for copies; negative if they have room for none. */
export function pagesWithin(free: number, { pageBytes }: PageLayout): number {
  return Math.floor(free / pageBytes) - 1;
}

/** Copies of fixed states in the prefix cache beside so many pages. `bytes`: bytes of a copy; 0: no layer has such a state. */
export function stateCopies(pages: number, { pageBytes }: PageLayout, bytes: number): number {
  if (bytes === 0) return 0;
  const affordable = Math.floor((COPY_SHARE * pages * pageBytes) / bytes);
  return Math.max(LEAST_COPIES, Math.min(Math.ceil(pages / COPY_PAGES), affordable));
}

/** Bytes of the layers' fixed states in so many slots, of their copies beside a number of pages, and of `backups` copies more. */
export function statesBeside(
  layers: readonly LayerState[],
  layout: PageLayout,
  slots: number,
  backups: number,
): (pages: number) => number {
  const bytes = slotBytes(layers);
  const ofSlots = stateBytes(layers, slots);
  return (pages) => {
    const copies = stateCopies(pages, layout, bytes);
    return ofSlots + copiesBytes(bytes === 0 ? 0 : copies + backups, bytes);
  };
}

/** Pages that the memory budget has room for. `extra`: bytes that are taken beside so many pages, which increase with them. */
export function fittingPages(
  device: Device,
  layout: PageLayout,
  extra: (pages: number) => number = () => 0,
): number {
  const free = device.memoryBudget - device.memoryUsed - extra(0);
  const least = leastPages(layout);
  const pages = largestWithin(pagesWithin(free, layout), (count) => {
    return pagesWithin(device.memoryBudget - device.memoryUsed - extra(count), layout) >= count;
  });
  if (pages < least) {
    throw new MemoryError(
      say`after the weights ${bytesText(Math.max(free, 0))} of the memory budget of ${bytesText(device.memoryBudget)} are left, and ${LEAST_PAGES * PAGE_TOKENS} tokens of context need ${bytesText((least + 1) * layout.pageBytes)}`,
      say`raise ${option('memoryBudget')} or choose ${option('quantization')} int4`,
    );
  }
  return pages;
}

/** The largest number up to `most` that fits, where each smaller one does, too; negative ones are returned as they are. */
function largestWithin(most: number, fits: (count: number) => boolean): number {
  if (most < 0 || !Number.isFinite(most) || fits(most)) return most;
  let [fitting, beyond] = [0, most];
  while (beyond - fitting > 1) {
    const middle = Math.floor((fitting + beyond) / 2);
    if (fits(middle)) fitting = middle;
    else beyond = middle;
  }
  return fitting;
}

/** No mask takes NaN away (zero times NaN is NaN), so pages must not hold any when they come into use. */
export class PageCleaner {
  readonly #device: Device;
  readonly #buffers: readonly PageBuffer[];
  readonly #pages: number;
  #cleared = 0;

  /** `buffers`: memory of so many pages. */
  constructor(device: Device, buffers: readonly PageBuffer[], pages: number) {
    this.#device = device;
    this.#buffers = buffers;
    this.#pages = pages;
  }

  /** Before a step that uses pages below `touched`: those that were never written are cleared. */
  ahead(touched: number): void {
    const first = this.#cleared;
    if (touched <= first) return;
    this.#cleared = Math.min(this.#pages, Math.ceil(touched / CLEAR_RUN) * CLEAR_RUN);
    this.#clear([[first, this.#cleared - first]]);
  }

  /** Clears pages that hold values that are not numbers. */
  clear(pages: readonly number[]): void {
    if (pages.length > 0) this.#clear(pages.map((page) => [page, 1]));
  }

  /** After an error that may have left anything in any page: every page counts as never written again. */
  restart(): void {
    this.#cleared = 0;
  }

  #clear(runs: readonly (readonly [first: number, count: number])[]): void {
    const encoder = this.#device.gpu.createCommandEncoder();
    for (const { buffer, bytes } of this.#buffers)
      for (const [first, count] of runs) encoder.clearBuffer(buffer, first * bytes, count * bytes);
    this.#device.gpu.queue.submit([encoder.finish()]);
  }
}
