// Computes the vectors of texts, or what a head gives: whole texts side by side in one flat batch, whose states are pooled. A text longer than a batch is
// computed in several parts, with its keys and values in pages. All state in this file ends with the device; requests outlive it.

import type { Pooling } from '../../files/checkpoint/embedding-folder.ts';
import { EngineError, unsupported } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../../gpu/tensor.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvFormat } from '../../kernels/batch.ts';
import { meanRows } from '../../kernels/mean-rows.ts';
import { joinFloats } from '../../models/join-floats.ts';
import type { TextDeclaration, TextForward } from '../../models/text/blocks/architecture.ts';
import type { TextOutputs } from '../../models/text/blocks/outputs.ts';
import type { OnDevice } from '../opening/served.ts';
import { fittingPages, usefulPages } from '../text/kv/kv-pages.ts';
import { stateBytes } from '../text/kv/layer-stores.ts';
import { wholeLayout } from '../text/kv/page-layout.ts';
import { pagesFor } from '../text/kv/pages.ts';
import type { RunnerCheckpoint } from '../text/step/runner-options.ts';
import { TextRoom } from '../text/step/text-room.ts';
import { formatOf } from '../weights/plan.ts';
import type { ChosenQuantization } from '../weights/quantization.ts';
import { unreadNote } from '../weights/unread.ts';
import { openWeights } from '../weights/weights.ts';
import type { EmbeddingModelInfo } from './embedding-model.ts';
import type { InputTokens } from './request-tokens.ts';
import { loadTaskLoras } from './task-loras.ts';

export interface EmbeddingRunnerOptions {
  pooling: Pooling;
  quantization: ChosenQuantization;
  contextLength: number;
  onProgress(bytes: number, totalBytes: number): void;
  onNote(message: string): void;
  /** Weights get their bytes and are not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** The members of EmbeddingModelInfo that are known once the weights are on the device. */
type RunnerFacts = Pick<EmbeddingModelInfo, 'parameters' | 'weightFormats' | 'dimensions' | 'contextLength'>;

/** The parts of an embedding model on a device. */
export interface LoadedEmbedding extends OnDevice {
  runner: EmbeddingRunner;
  quantization: EmbeddingRunnerOptions['quantization'];
}

const SMALL_CAPACITIES = [TILE_ROWS, 4 * TILE_ROWS];
const MOST_TEXTS = 64;

/** Batches (tokens and texts) that together use every kernel: opening a model runs each of them once. */
export const WARM_UP_BATCHES = [
  { tokens: 1, texts: 1 },
  { tokens: 20, texts: 1 },
  { tokens: 32, texts: 4 },
];

/** Opens the runner. Errors: unsupported, out_of_memory, what reading throws. */
export async function openEmbeddingRunner(
  device: Device,
  checkpoint: RunnerCheckpoint,
  declaration: TextDeclaration,
  options: EmbeddingRunnerOptions,
): Promise<EmbeddingRunner> {
  const { quantization, onProgress, onNote } = options;
  const { outputs } = declaration;
  const pooling = outputs?.pooling ?? options.pooling;
  const isWhole = declaration.inputs.attention === 'whole';
  if (!isWhole && pooling !== 'last') {
    throw unsupported(
      `${checkpoint.path}: a ${declaration.architecture} that pools by ${pooling} is not built; choose one that pools by its last token`,
      '1_Pooling/config.json',
    );
  }
  const weights = openWeights(device, checkpoint.tensors, declaration.embed!, {
    format: formatOf(quantization),
    configSource: checkpoint.configSource,
  });
  const unread = unreadNote(weights.unread, checkpoint.architecture);
  if (unread !== null) onNote(unread);
  if (!options.unread) await weights.load({ onProgress });
  const { tasks } = declaration;
  if (tasks) {
    const { unread = false } = options;
    await loadTaskLoras(device, weights.adaptable, checkpoint.tensors, tasks, { unread });
  }
  const widest = 4 * paddedColumns(declaration.widest);
  const fitting = Math.floor(device.capabilities.bindingLimit / widest / TILE_ROWS) * TILE_ROWS;
  const rows = Math.min(device.profile.stepRows.embedding, fitting);
  // With bidirectional attention a text cannot be computed in several steps.
  const mostTokens = isWhole ? fitting : Infinity;
  const wanted = Math.min(options.contextLength, declaration.context, mostTokens);
  const stored = [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
  const format = stored && quantization === 'none' ? 'f32' : 'f16';
  const pages = await pagesOf(device, declaration, format, Math.max(wanted, rows + MOST_TEXTS));
  const mostRows = isWhole ? Math.max(rows, Math.ceil(wanted / TILE_ROWS) * TILE_ROWS) : rows;
  const room = new TextRoom(device, declaration, { rows: mostRows, texts: MOST_TEXTS, pages, format });
  const capacities = [...SMALL_CAPACITIES.filter((small) => small < rows), rows, mostRows];
  const facts = {
    parameters: weights.parameters,
    weightFormats: weights.formats,
    dimensions: outputs?.labels.length ?? declaration.vectors ?? declaration.hidden,
    contextLength: Math.min(wanted, pages * PAGE_TOKENS),
  };
  const isTyped = (declaration.inputs.types ?? 0) > 1;
  const isPooled = outputs !== undefined || declaration.vectors !== undefined;
  const hasTasks = tasks !== undefined;
  const batches = { pooling, isWhole, isTyped, isPooled, hasTasks, outputs, capacities };
  return new EmbeddingRunner(device, room, weights.page, batches, facts);
}

async function pagesOf(
  device: Device,
  { layers }: TextDeclaration,
  format: KvFormat,
  tokens: number,
): Promise<number> {
  const layout = wholeLayout(layers, format);
  const states = stateBytes(layers, MOST_TEXTS);
  await device.reserve(device.memoryUsed + layout.pageBytes * pagesFor(tokens) + states);
  const slots = { contextLength: tokens + MOST_TEXTS * PAGE_TOKENS, totalTokens: Infinity, slots: 1 };
  return Math.min(
    usefulPages(device, layout, slots),
    fittingPages(device, layout, () => states),
  );
}

interface BatchOptions {
  pooling: Pooling;
  /** Whether attention is bidirectional, so that each row sees its whole text. */
  isWhole: boolean;
  /** Outputs of the model's head, which the page computes in place of states; left out: it has no head. */
  outputs: TextOutputs | undefined;
  /** Whether the page pools states itself. */
  isPooled: boolean;
  /** Whether tokens have types. */
  isTyped: boolean;
  /** Whether texts may have LoRAs of tasks. */
  hasTasks: boolean;
  /** Row counts for which steps are recorded, ascending; several texts are batched up to the last but one. */
  capacities: readonly number[];
}

/** Tokens `from` to `to` of a text whose pages begin with `firstPage`. */
interface TextPart extends InputTokens {
  from: number;
  to: number;
  firstPage: number;
}

export class EmbeddingRunner {
  readonly device: Device;
  readonly facts: RunnerFacts;
  readonly #room: TextRoom;
  readonly #forward: TextForward;
  readonly #options: BatchOptions;
  /** Maximum rows of a batch of several texts. */
  readonly #rows: number;
  readonly #recordings = new Map<number, { tape: Tape; states: Tensor }>();

  constructor(
    device: Device,
    room: TextRoom,
    forward: TextForward,
    options: BatchOptions,
    facts: RunnerFacts,
  ) {
    this.device = device;
    this.facts = facts;
    this.#room = room;
    this.#forward = forward;
    this.#options = options;
    this.#rows = options.capacities.at(-2)!;
  }

  /** Chooses which of the waiting texts are computed next, given their lengths; the first is always among them. */
  pick(lengths: readonly number[]): number[] {
    const picked: number[] = [];
    let left = this.#rows;
    let leftPages = this.#room.sizes.pages;
    for (const [at, length] of lengths.entries()) {
      const taken = pagesFor(length);
      if (picked.length > 0 && (length > left || taken > leftPages)) continue;
      picked.push(at);
      left -= length;
      leftPages -= taken;
      if (left <= 0 || picked.length === MOST_TEXTS) break;
    }
    return picked;
  }

  /** Computes the vectors of texts, in order. Throws `cancelled` early once `wanted` returns false. */
  async run(texts: readonly InputTokens[], wanted: () => boolean): Promise<Float32Array[]> {
    const { ids } = texts[0]!;
    if (this.#options.isWhole || texts.length > 1 || ids.length <= this.#rows)
      return this.#step(partsOf(texts));
    const parts: Float32Array[] = [];
    for (let from = 0; from < ids.length; from += this.#rows) {
      if (!wanted()) throw new EngineError('cancelled', 'the request was cancelled');
      const to = Math.min(from + this.#rows, ids.length);
      parts.push(...(await this.#step([{ ids, from, to, firstPage: 0 }])));
    }
    return [this.#options.outputs?.per === 'token' ? joinFloats(parts) : parts.at(-1)!];
  }

  /** Records the step for a batch of `tokens` tokens; without this call its first run records it. */
  async record(tokens: number): Promise<void> {
    await this.#recordingFor(tokens);
  }

  async #step(parts: readonly TextPart[]): Promise<Float32Array[]> {
    const sizes = this.#write(parts);
    const { tape, states } = await this.#recordingFor(sizes.rows);
    tape.run(sizes, { submitEvery: 1 });
    const region = tape.region(states);
    const isPerToken = this.#options.outputs?.per === 'token';
    const rows = isPerToken ? sizes.rows : parts.length;
    const bytes = Math.min(region.size, 4 * rows * states.stride);
    const floats = new Float32Array(await this.device.read({ ...region, size: bytes }));
    const error = this.device.takeError();
    if (error !== null) throw error;
    let row = 0;
    return parts.map(({ from, to }) => {
      const first = row;
      row += isPerToken ? to - from : 1;
      return rowsOf(floats, states, first, row);
    });
  }

  #write(parts: readonly TextPart[]): { rows: number } & Record<string, number> {
    const { writer } = this.#room;
    writer.begin({ adapted: this.#options.hasTasks });
    parts.forEach(({ ids, types, task, from, to, firstPage }, slot) => {
      const row = writer.rows;
      writer.add({
        ...{ first: from, rows: to - from, ids, slot, lengthAt: () => ids.length },
        ...(this.#options.isTyped && { types }),
        ...(this.#options.hasTasks && { lora: task }),
        tables: [Array.from({ length: pagesFor(to) }, (_, page) => firstPage + page)],
        ...(this.#options.isWhole && { spans: [{ first: 0, end: ids.length }] }),
      });
      const [before, count] = pooledRows(to - from, this.#options.pooling);
      writer.pool(row + before, count);
    });
    return writer.end();
  }

  /** Records a tape when it is first needed, because a tape for one very long text takes much memory. */
  async #recordingFor(rows: number): Promise<{ tape: Tape; states: Tensor }> {
    const capacity = this.#options.capacities.find((most) => most >= rows)!;
    const found = this.#recordings.get(capacity);
    if (found) return found;
    const { buffers, stores } = this.#room;
    const recording = this.#room.record(capacity, { adapted: this.#options.hasTasks }, (tape) =>
      this.#options.isPooled
        ? this.#forward(tape, buffers.batch, stores.all)
        : meanRows(this.#forward(tape, buffers.batch, stores.all), buffers.batch.pooled),
    );
    this.#recordings.set(capacity, recording);
    await this.device.reserve(this.device.memoryUsed + this.device.arena.growth());
    return recording;
  }
}

function partsOf(texts: readonly InputTokens[]): TextPart[] {
  let firstPage = 0;
  return texts.map((text) => {
    const { length } = text.ids;
    const part = { ...text, from: 0, to: length, firstPage };
    firstPage += pagesFor(length);
    return part;
  });
}

/** Rows `first` to `end` - 1 without their padding, one after the other. */
function rowsOf(floats: Float32Array, { stride, columns }: Tensor, first: number, end: number): Float32Array {
  const rows = Array.from({ length: end - first }, (_, i) => (first + i) * stride);
  return joinFloats(rows.map((at) => floats.subarray(at, at + columns)));
}

/** Returns the first row and the number of rows whose mean is the text's vector. */
function pooledRows(length: number, pooling: Pooling): [first: number, count: number] {
  if (pooling === 'mean') return [0, length];
  return [pooling === 'cls' ? 0 : length - 1, 1];
}
