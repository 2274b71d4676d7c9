// Hidden states of a text: one prompt through the layers of a language model, for models that are told their text so.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import { Tensor, tensorBytes } from '../../../gpu/tensor.ts';
import { PAGE_TOKENS, ROW_WORDS, TILE_ROWS, TILE_WORDS, type KvPages } from '../../../kernels/batch.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/architecture.ts';
import { ropeSets } from '../../../models/text/rope.ts';
import { compileTape } from '../../compile.ts';
import { allocateKv } from '../cache/kv-pages.ts';
import { pagesFor } from '../cache/pages.ts';
import { createStepBuffers, type StepBuffers } from './step-buffers.ts';

export interface StatesOptions {
  /** Plain f32 kernels. */
  plain: boolean;
  /** Hears of the kernels that are compiled for it. */
  onKernels?: ((done: number, total: number) => void) | undefined;
  /** Kernels are compiled, and nothing is computed. */
  compileOnly?: boolean;
}

/** `forward` gives all rows' states → [1, tokens, hidden] in bytes of their own; keys and values stay in f32. */
export async function textStates(
  device: Device,
  config: TextDeclaration,
  forward: TextForward,
  ids: readonly number[],
  { plain, onKernels, compileOnly = false }: StatesOptions,
): Promise<Tensor> {
  const rows = Math.ceil(ids.length / TILE_ROWS) * TILE_ROWS;
  const tiles = rows / TILE_ROWS;
  const buffers = createStepBuffers(device, {
    rows,
    tiles,
    pages: pagesFor(ids.length),
    sampled: 1,
    biases: 0,
    slots: 1,
    dims: config.rope.dims,
  });
  let kv: KvPages[] = [];
  let made: GPUBuffer | null = null;
  const tape = new Tape(device, { rows, tiles, sampled: 1, tileRows: TILE_ROWS }, { plain });
  try {
    kv = allocateKv(device, config.layers, 'f32', pagesFor(ids.length));
    const encoder = device.gpu.createCommandEncoder();
    for (const { keys, values } of kv) [keys, values].forEach(({ buffer }) => encoder.clearBuffer(buffer));
    device.gpu.queue.submit([encoder.finish()]);
    const states = tape.keep(forward(tape, buffers.batch, kv));
    tape.finish();
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
    writePrompt(buffers, config, ids);
    const shape = [1, ids.length, states.columns];
    const buffer = (made = device.allocate('step', 'states of a text', tensorBytes(shape, {})));
    const sizes = { rows: ids.length, tiles, sampled: 0, tileRows: Math.min(TILE_ROWS, ids.length) };
    const last = (commands: GPUCommandEncoder): void => {
      const { buffer: source, offset } = tape.region(states);
      commands.copyBufferToBuffer(source, offset, buffer, 0, 4 * ids.length * states.stride);
    };
    if (!compileOnly) tape.run(sizes, { submitEvery: 1, last });
    await device.gpu.queue.onSubmittedWorkDone();
    return new Tensor(shape, 'f32', { region: { buffer, offset: 0, size: buffer.size } });
  } catch (error) {
    if (made) device.free(made);
    throw error;
  } finally {
    tape.destroy();
    buffers.destroy();
    for (const { keys, values } of kv) [keys, values].forEach(({ buffer }) => device.free(buffer));
  }
}

/** One sequence from its beginning, page after page. */
function writePrompt({ words, upload }: StepBuffers, config: TextDeclaration, ids: readonly number[]): void {
  const rope = ropeSets(config.rope, words.turns);
  rope.clear();
  ids.forEach((id, i) => words.rows.set([id, i, i, rope.of(ids.length)], ROW_WORDS * i));
  const tiles = Math.ceil(ids.length / TILE_ROWS);
  for (let tile = 0; tile < tiles; tile++) {
    const first = tile * TILE_ROWS;
    words.tiles.set([first, Math.min(TILE_ROWS, ids.length - first), 0, 0], TILE_WORDS * tile);
  }
  const pages = Math.ceil(ids.length / PAGE_TOKENS);
  for (let page = 0; page < pages; page++) words.pages[page] = page;
  upload({ rows: ids.length, frequencies: rope.count, tiles, pages, sampled: 0, biases: 0 });
}
