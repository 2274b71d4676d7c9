// What the towers of Qwen and GLM read of an image, or of the frames of a video: patches in the tower's order, rotations, and learned positions.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaInput } from '../../media.ts';
import { bilinearPlaces } from './bilinear-places.ts';
import type { QwenProcessorConfig } from './qwen-processor-config.ts';
import { visionLayout, type LayoutConfig, type VisionLayout } from './qwen-vision-layout.ts';
import { visionPatches } from './qwen-vision-patches.ts';

export interface FramesConfig extends LayoutConfig {
  /** Positions along one side of the table of learned positions; null: there is none. */
  places: number | null;
  /** How they are mixed for the patches of a grid; left out: from four of them. */
  mixtures?: typeof bilinearPlaces;
}

export interface PreparedFrames {
  inputs: Record<string, MediaInput>;
  groups: VisionLayout['groups'];
  /** Rows and columns of the cells of a frame. */
  rows: number;
  columns: number;
}

/** `steps`: the images of each step in time, whose sides are multiples of a cell. */
export function* prepareFrames(
  config: FramesConfig,
  processor: QwenProcessorConfig,
  steps: readonly (Pixels | readonly Pixels[])[],
): Generator<void, PreparedFrames, void> {
  const { merge, window, dims, places: side, mixtures = bilinearPlaces } = config;
  const [first] = steps;
  const { width, height } = 'data' in first! ? first : first![0]!;
  const grid = { rows: height / processor.patch, columns: width / processor.patch };
  const layout = visionLayout(config, grid);
  const count = layout.patches.length;
  const patches: Float32Array<ArrayBuffer>[] = [];
  for (const images of steps) {
    yield;
    patches.push(visionPatches(processor, layout, images));
  }
  const values = joined(patches);
  yield;
  const columns = values.length / count / steps.length;
  const inputs: Record<string, MediaInput> = {
    patches: { shape: [steps.length, count / merge, merge, columns], data: values },
    rotations: { shape: [steps.length * count, dims], data: joined(steps.map(() => layout.rotations)) },
  };
  if (Number.isFinite(window)) {
    const places = new Uint32Array(steps.length * count);
    for (let i = 0; i < places.length; i++)
      places[i] = layout.places[i % count]! + count * Math.floor(i / count);
    inputs['places'] = { shape: [places.length], data: places };
  }
  if (side !== null) {
    const { sources, shares } = mixtures(side, grid, layout.patches);
    const shape = [count, sources.length / count];
    inputs['sources'] = { shape, data: sources };
    inputs['shares'] = { shape, data: shares };
  }
  return { inputs, groups: layout.groups, rows: grid.rows / merge, columns: grid.columns / merge };
}

function joined(parts: readonly Float32Array<ArrayBuffer>[]): Float32Array<ArrayBuffer> {
  if (parts.length === 1) return parts[0]!;
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
