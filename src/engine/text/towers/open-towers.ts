// Opens the towers of a model: their weights, and the memory that typical media take.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import type { MediaModel, PreparedMedium } from '../../../models/media.ts';
import { finished } from '../../../models/preparation.ts';
import { TowerWeights, type RunnerMedia } from './tower-weights.ts';
import { Towers } from './towers.ts';

/** Memory of a typical medium's tape, as a share of the budget. */
const SCRATCH_SHARE = 1 / 8;
/** The share that the smallest of these may take. */
const LARGEST_SCRATCH_SHARE = 1 / 3;
/** Rows that are kept: those of so many typical media, as a share of the budget at most. */
const KEPT_MEDIA = 8;
const ROW_SHARE = 1 / 16;
/** Sides of a typical image; a smaller one is assumed where the budget has too little room. */
const SIDES = [1024, 512, 224];
/** Seconds of a typical sound. */
const SECONDS = 30;

export interface TowerOptions {
  hidden: number;
  /** Layers after which rows are added. */
  deep: number;
  /** Bytes of the KV pages that are of use. */
  pageBytes: number;
  /** Nothing is read: for planning. */
  unread: boolean;
  onNote: (message: string) => void;
}

/** Errors: out_of_memory, bad_checkpoint. */
export async function openTowers(
  device: Device,
  media: RunnerMedia,
  { hidden, deep, pageBytes, unread, onNote }: TowerOptions,
): Promise<Towers> {
  const { model } = media;
  const weights = new TowerWeights(device, media);
  await weights.enter(pageBytes + SCRATCH_SHARE * device.memoryBudget, { unread });
  if (weights.note !== null) onNote(weights.note);
  const towers = new Towers(device, { weights, hidden, blocks: 1 + deep });
  let rows = 0;
  for (const side of SIDES) {
    const { scratch, rows: found } = measured(towers, typicalMedia(model, side));
    rows = found;
    const most = side === SIDES.at(-1) ? LARGEST_SCRATCH_SHARE : SCRATCH_SHARE;
    if (scratch <= most * device.memoryBudget) break;
    // Where even the smallest does not fit, media take what is left when they come.
    towers.forget();
  }
  towers.settle(Math.max(rows, Math.min(KEPT_MEDIA * rows, ROW_SHARE * device.memoryBudget)));
  return towers;
}

/** The most that any of these media takes; Infinity where the budget has no room for it. */
function measured(towers: Towers, media: readonly PreparedMedium[]): { scratch: number; rows: number } {
  try {
    const taken = media.map((prepared) => towers.measure(prepared));
    return {
      scratch: Math.max(0, ...taken.map(({ scratch }) => scratch)),
      rows: Math.max(0, ...taken.map(({ rows }) => rows)),
    };
  } catch (error) {
    if (error instanceof EngineError && error.code === 'out_of_memory') return { scratch: Infinity, rows: 0 };
    throw error;
  }
}

/** One medium of each kind that the model takes. */
function typicalMedia({ readers: { image, video, audio } }: MediaModel, side: number): PreparedMedium[] {
  const pixels = { width: side, height: side, data: new Uint8Array(3 * side * side) };
  const source = { width: side, height: side, frames: 16, fps: 2, duration: 8 };
  const media: (() => PreparedMedium)[] = [];
  if (image) media.push(() => finished(image.prepare(pixels, {})));
  if (video) {
    const filmed = { width: side / 2, height: side / 2, data: new Uint8Array((3 * side * side) / 4) };
    const indices = video.frames(source);
    media.push(() => {
      const frame = video.fit ? video.fit(filmed, source, {}) : filmed;
      const frames = indices.map(() => frame);
      return finished(video.prepare({ source, indices, frames, ...(video.fit && { isFitted: true }) }, {}));
    });
  }
  if (audio) {
    const { rate } = audio;
    media.push(() => finished(audio.prepare({ rate, samples: new Float32Array(SECONDS * rate) }, {})));
  }
  return media.flatMap((prepare) => {
    try {
      return [prepare()];
    } catch (error) {
      // A model with narrow limits refuses this size, which then says nothing about its memory.
      if (error instanceof EngineError && error.code === 'bad_request') return [];
      throw error;
    }
  });
}
