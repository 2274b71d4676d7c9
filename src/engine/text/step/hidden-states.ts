// Hidden states of a text for image models: one prompt, which may hold images, through the layers of a language model.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import { Tensor, tensorBytes, type Region } from '../../../gpu/tensor.ts';
import { TILE_ROWS } from '../../../kernels/batch.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/blocks/architecture.ts';
import { compileTape } from '../../tuning/compile.ts';
import { pagesFor } from '../kv/pages.ts';
import type { BatchPart, InputRun, TokenSpan } from './batch-writer.ts';
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
  /** Tokens that fill the text up; left out: none. */
  padding?: Padding;
}

/** Tokens that no token sees. Behind a text they see the text, before it nothing, like masked tokens of a causal model in transformers. */
export interface Padding {
  id: number;
  count: number;
  side: 'before' | 'behind';
}

const NO_PADDING: Padding = { id: 0, count: 0, side: 'behind' };

/** `forward` returns the states of all rows, [1, tokens, hidden], in a buffer of their own; keys and values are f32. */
export async function textStates(
  device: Device,
  declaration: TextDeclaration,
  forward: TextForward,
  { ids: text, images, place, padding = NO_PADDING }: StatesText,
  { plain, onKernels, compileOnly = false }: StatesOptions,
): Promise<Tensor> {
  // Padding is computed behind the text on either side, because rotations depend on distances only.
  const ids = [...text, ...Array<number>(padding.count).fill(padding.id)];
  const rows = Math.ceil(ids.length / TILE_ROWS) * TILE_ROWS;
  const pages = pagesFor(ids.length);
  const embeddings = images && { rows: images.embeddings.rows({}), columns: images.embeddings.columns };
  const sizes = { rows, texts: 1, pages, format: 'f32' as const, ...(embeddings && { inputs: embeddings }) };
  const spans = spansOf(declaration, text.length, padding);
  const inputs = spans ? { ...declaration.inputs, attention: 'spans' as const } : declaration.inputs;
  const room = new TextRoom(device, { ...declaration, inputs }, sizes);
  let made: GPUBuffer | null = null;
  let recorded: ReturnType<TextRoom['record']> | null = null;
  try {
    recorded = room.record(rows, { plain }, (tape) => forward(tape, room.buffers.batch, room.stores.all));
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
      ...(spans && { spans }),
    });
    const last = (commands: GPUCommandEncoder): void => {
      const { buffer: source, offset } = tape.region(states);
      const rowBytes = 4 * states.stride;
      const before = padding.side === 'before' ? padding.count : 0;
      const [first, others] = [(ids.length - before) * rowBytes, before * rowBytes];
      commands.copyBufferToBuffer(source, offset, buffer, others, first);
      if (others > 0) commands.copyBufferToBuffer(source, offset + first, buffer, 0, others);
    };
    const written = room.writer.end();
    if (images) copyRegion(device, images.embeddings.region!, room.buffers.batch.inputs!);
    if (!compileOnly) await tape.replay(written, { submitEvery: 1, last });
    await device.gpu.queue.onSubmittedWorkDone();
    return new Tensor(shape, 'f32', { region: wholeOf(buffer) });
  } catch (error) {
    if (made) device.free(made);
    throw error;
  } finally {
    recorded?.tape.destroy();
    room.free();
  }
}

/** Runs of tokens that see others than themselves and all earlier ones; null: there are none. */
function spansOf({ inputs }: TextDeclaration, end: number, { count, side }: Padding): TokenSpan[] | null {
  const text = inputs.attention === 'whole' ? [{ first: 0, end }] : [];
  const last = side === 'behind' ? end - 1 : -1;
  const fill = count > 0 ? [{ first: end, end: end + count, last }] : [];
  return text.length + fill.length > 0 ? [...text, ...fill] : null;
}

function copyRegion(device: Device, from: Region, to: Region): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, Math.min(from.size, to.size));
  device.gpu.queue.submit([encoder.finish()]);
}
