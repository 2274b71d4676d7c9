// Hidden states of a text for image models: one prompt through the layers of a language model.

import type { Device } from '../../../gpu/device.ts';
import { Tensor, tensorBytes } from '../../../gpu/tensor.ts';
import { TILE_ROWS } from '../../../kernels/batch.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/architecture.ts';
import { compileTape } from '../../compile.ts';
import { pagesFor } from '../cache/pages.ts';
import { TextRoom } from './text-room.ts';

export interface StatesOptions {
  /** Whether to use plain f32 kernels. */
  plain: boolean;
  /** Called while the kernels that it needs are compiled. */
  onKernels?: ((done: number, total: number) => void) | undefined;
  /** Compiles kernels without computing anything. */
  compileOnly?: boolean;
}

/** `forward` returns the states of all rows, [1, tokens, hidden], in a buffer of their own; keys and values are f32. */
export async function textStates(
  device: Device,
  declaration: TextDeclaration,
  forward: TextForward,
  ids: readonly number[],
  { plain, onKernels, compileOnly = false }: StatesOptions,
): Promise<Tensor> {
  const rows = Math.ceil(ids.length / TILE_ROWS) * TILE_ROWS;
  const pages = pagesFor(ids.length);
  const room = new TextRoom(device, declaration, { rows, texts: 1, pages, format: 'f32' });
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
      ...(declaration.inputs.attention === 'whole' && { spans: [{ first: 0, end: ids.length }] }),
    });
    const last = (commands: GPUCommandEncoder): void => {
      const { buffer: source, offset } = tape.region(states);
      commands.copyBufferToBuffer(source, offset, buffer, 0, 4 * ids.length * states.stride);
    };
    const sizes = room.writer.end();
    if (!compileOnly) tape.run(sizes, { submitEvery: 1, last });
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
