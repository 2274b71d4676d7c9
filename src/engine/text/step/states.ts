// Hidden states of a text for image models: one prompt, which may hold images, through the layers of a language model.

import type { Device } from '../../../gpu/device.ts';
import { Tensor, tensorBytes, type Region } from '../../../gpu/tensor.ts';
import { TILE_ROWS } from '../../../kernels/batch.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/architecture.ts';
import { compileTape } from '../../compile.ts';
import { pagesFor } from '../cache/pages.ts';
import type { BatchPart, InputRun } from './batch-writer.ts';
import { TextRoom } from './text-room.ts';

export interface StatesOptions {
  /** Whether to use plain f32 kernels. */
  plain: boolean;
  /** Called while the kernels that it needs are compiled. */
  onKernels?: ((done: number, total: number) => void) | undefined;
  /** Compiles kernels without computing anything. */
  compileOnly?: boolean;
}

/** A text, in which embeddings of images may stand in the place of tokens. */
export interface StatesText {
  ids: readonly number[];
  /** Embeddings [rows, hidden], and the runs of tokens whose rows they are; left out: none. */
  images?: { embeddings: Tensor; runs: readonly InputRun[] };
  /** Positions of three parts; left out: each token's is its index. */
  place?: BatchPart['place'];
}

/** `forward` returns the states of all rows, [1, tokens, hidden], in a buffer of their own; keys and values are f32. */
export async function textStates(
  device: Device,
  declaration: TextDeclaration,
  forward: TextForward,
  { ids, images, place }: StatesText,
  { plain, onKernels, compileOnly = false }: StatesOptions,
): Promise<Tensor> {
  const rows = Math.ceil(ids.length / TILE_ROWS) * TILE_ROWS;
  const pages = pagesFor(ids.length);
  const inputs = images && { rows: images.embeddings.rows({}), columns: images.embeddings.columns };
  const sizes = { rows, texts: 1, pages, format: 'f32' as const, ...(inputs && { inputs }) };
  const room = new TextRoom(device, declaration, sizes);
  let made: GPUBuffer | null = null;
  let recorded: ReturnType<TextRoom['record']> | null = null;
  try {
    recorded = room.record(rows, plain, (tape) => forward(tape, room.buffers.batch, room.stores.all));
    const { tape, states } = recorded;
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
    const shape = [1, ids.length, states.columns];
    const buffer = (made = device.allocate('step', 'states of a text', tensorBytes(shape, {})));
    room.writer.begin();
    room.writer.add({
      ...{ first: 0, rows: ids.length, ids, slot: 0, lengthAt: () => ids.length },
      tables: [Array.from({ length: pages }, (_, page) => page)],
      ...(images && { inputs: images.runs }),
      ...(place && { place }),
      ...(declaration.inputs.attention === 'whole' && { spans: [{ first: 0, end: ids.length }] }),
    });
    const last = (commands: GPUCommandEncoder): void => {
      const { buffer: source, offset } = tape.region(states);
      commands.copyBufferToBuffer(source, offset, buffer, 0, 4 * ids.length * states.stride);
    };
    const written = room.writer.end();
    if (images) copyRegion(device, images.embeddings.region!, room.buffers.batch.inputs!);
    if (!compileOnly) tape.run(written, { submitEvery: 1, last });
    await device.gpu.queue.onSubmittedWorkDone();
    return new Tensor(shape, 'f32', { region: { buffer, offset: 0, size: buffer.size } });
  } catch (error) {
    if (made) device.free(made);
    throw error;
  } finally {
    recorded?.tape.destroy();
    room.free();
  }
}

function copyRegion(device: Device, from: Region, to: Region): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, Math.min(from.size, to.size));
  device.gpu.queue.submit([encoder.finish()]);
}
