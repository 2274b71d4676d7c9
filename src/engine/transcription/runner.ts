// A transcriber on a device. Each slot has the keys and values of one window and of the tokens written about it. All state in this file ends
// with the device.

import { unsupported } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { TILE_ROWS, type KvFormat } from '../../kernels/batch.ts';
import type { AlignmentHead, Transcriber, TranscriberPage } from '../../models/audio/transcriber.ts';
import type { KvState, TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { wholeLayout } from '../text/kv/page-layout.ts';
import { pagesFor } from '../text/kv/pages.ts';
import type { RunnerCheckpoint } from '../text/step/runner-options.ts';
import type { Phase } from '../text/step/step-part.ts';
import { TextRoom } from '../text/step/text-room.ts';
import { formatOf } from '../weights/plan.ts';
import type { ChosenQuantization } from '../weights/quantization.ts';
import { unreadNote } from '../weights/unread.ts';
import { openWeights } from '../weights/weights.ts';
import type { AlignedHeads } from './head-looks.ts';
import type { TranscriptionModelInfo } from './transcription-model.ts';
import { WindowEncoder } from './window-encoder.ts';

export interface TranscriptionRunnerOptions {
  quantization: ChosenQuantization;
  /** Windows that are transcribed together, at most. */
  slots: number;
  onProgress(bytes: number, totalBytes: number): void;
  onNote(message: string): void;
  /** Weights get their bytes and are not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** Tokens of one window that a step computes: those from `first` on. */
export interface WrittenPart {
  slot: number;
  ids: readonly number[];
  first: number;
  /** Tokens that stand before those that the model writes. */
  prompt: number;
  /** Positions of the tokens whose logits are read. */
  wanted: readonly number[];
}

/** Rows of a step of prompts, and logits that a window may ask for in a step. */
const [PROMPT_ROWS, MOST_WANTED] = [64, 2];
/** Weights of tokens for the sound's rows that a step computes, at most; of one tile in any case. */
const ALIGNED_WEIGHTS = 2 ** 22;

/** Opens the runner. Errors: unsupported, out_of_memory, what reading throws. */
export async function openTranscriptionRunner(
  device: Device,
  checkpoint: Pick<RunnerCheckpoint, 'path' | 'tensors' | 'configSource' | 'architecture'>,
  transcriber: Transcriber,
  options: TranscriptionRunnerOptions,
): Promise<TranscriptionRunner> {
  const { quantization, onProgress, onNote } = options;
  const weights = openWeights(device, checkpoint.tensors, (table) => transcriber.page(table), {
    format: formatOf(quantization),
    configSource: checkpoint.configSource,
  });
  const unread = unreadNote(weights.unread, checkpoint.architecture);
  if (unread !== null) onNote(unread);
  if (!options.unread) await weights.load({ onProgress });
  const stored = [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
  const format: KvFormat = stored && quantization === 'none' ? 'f32' : 'f16';
  const slots = await slotsWithin(device, transcriber, format, options.slots);
  const { parameters, formats: weightFormats } = weights;
  const facts = { parameters, weightFormats, maxRunningRequests: slots };
  return new TranscriptionRunner(device, transcriber, weights.page, { slots, format }, facts);
}

const layersOf = ({ layers, heads }: Transcriber): KvState[] =>
  Array.from({ length: layers }, () => ({
    ...{ kind: 'kv', kvHeads: heads.kvHeads, dims: heads.dims, window: null },
  }));

/** Pages of a window's rows, and of the tokens about it. */
const pagesOf = ({ sound, context }: Transcriber) => ({
  heard: pagesFor(sound.rowsOf(sound.frames)),
  own: pagesFor(context),
});

async function slotsWithin(
  device: Device,
  transcriber: Transcriber,
  format: KvFormat,
  most: number,
): Promise<number> {
  const { lanes, pageBytes } = wholeLayout(layersOf(transcriber), format);
  const { heard, own } = pagesOf(transcriber);
  const { bindingLimit } = device.capabilities;
  const bound = Math.floor(bindingLimit / (Math.max(...lanes) * Math.max(heard, own)));
  if (bound === 0)
    throw unsupported(
      `a window's keys take more than the ${bindingLimit} bytes that this adapter binds: choose a smaller model`,
    );
  await device.reserve(device.memoryUsed + most * (heard + own) * pageBytes);
  const fitting = Math.floor((device.memoryBudget - device.memoryUsed) / ((heard + own) * pageBytes));
  return Math.max(1, Math.min(most, bound, fitting));
}

type Facts = Pick<TranscriptionModelInfo, 'parameters' | 'weightFormats' | 'maxRunningRequests'>;

interface Recorded {
  tape: Tape;
  /** Logits, or weights of layers. */
  made: readonly Tensor[];
  phase: Phase;
  rows: number;
}

export class TranscriptionRunner {
  readonly device: Device;
  readonly facts: Facts;
  /** Rows of a part, at most. */
  readonly mostRows: number;
  readonly #transcriber: Transcriber;
  /** The tokens' pages, and those of the windows. */
  readonly #own: TextRoom;
  readonly #heard: TextRoom;
  readonly #encoder: WindowEncoder;
  /** Rows of the window of each slot. */
  readonly #rows: number[] = [];
  readonly #recorded: readonly Recorded[];
  readonly #aligning: Recorded | null;

  constructor(
    device: Device,
    transcriber: Transcriber,
    page: TranscriberPage,
    { slots, format }: { slots: number; format: KvFormat },
    facts: Facts,
  ) {
    const { sound } = transcriber;
    this.device = device;
    this.facts = facts;
    const most = sound.rowsOf(sound.frames);
    this.mostRows = Math.min(PROMPT_ROWS, most);
    this.#transcriber = transcriber;
    const { heard, own } = pagesOf(transcriber);
    const rows = Math.max(this.mostRows, slots);
    const room = (attention: 'causal' | 'whole', most: number, pages: number): TextRoom => {
      const inputs = { embeddings: false, positions: 1, attention } as const;
      const declared: Pick<TextDeclaration, 'ropes' | 'inputs' | 'layers'> = {
        ropes: attention === 'causal' ? transcriber.ropes : [],
        inputs,
        layers: layersOf(transcriber),
      };
      return new TextRoom(device, declared, {
        rows: most,
        texts: MOST_WANTED * slots,
        pages: slots * pages,
        format,
      });
    };
    this.#own = room('causal', rows, own);
    this.#heard = room('whole', Math.max(rows, most), heard);
    this.#encoder = new WindowEncoder(device, sound, (features) =>
      page.hear(features, this.#heard.stores.all),
    );
    const decoded = [...new Set([1, slots])].map((count) => this.#record(page, 'decode', count));
    this.#recorded = [...decoded, this.#record(page, 'prompt', rows)];
    this.#aligning = this.#recordAligning(page);
  }

  #recordAligning(page: TranscriberPage): Recorded | null {
    const { alignment, sound } = this.#transcriber;
    if (alignment === null) return null;
    const fitting = Math.floor(ALIGNED_WEIGHTS / (alignment.heads.length * sound.rowsOf(sound.frames)));
    const rows = Math.min(this.mostRows, Math.max(TILE_ROWS, fitting));
    return this.#record(page, 'prompt', rows, alignment.heads);
  }

  #record(
    page: TranscriberPage,
    phase: Phase,
    rows: number,
    aligned: readonly AlignmentHead[] | null = null,
  ): Recorded {
    const { device } = this;
    const texts = this.#own.sizes.texts;
    const { heard, own } = pagesOf(this.#transcriber);
    const tiles = Math.ceil(rows / TILE_ROWS) + texts;
    const capacity = {
      ...{ rows, tiles: phase === 'decode' ? rows : tiles, tileRows: phase === 'decode' ? 1 : TILE_ROWS },
      ...{ sampled: texts, sequences: texts, contextPages: Math.max(heard, own) },
    };
    const isPhased = device.profile.matvecRows !== null;
    const decodes = !isPhased ? [] : phase === 'decode' ? ['rows', 'sampled'] : ['sampled'];
    const tape = new Tape(device, capacity, { decodes });
    const attended = ({ buffers, stores }: TextRoom) => ({ batch: buffers.batch, stores: stores.all });
    const both = [attended(this.#own), attended(this.#heard)] as const;
    const made = aligned ? page.align(tape, ...both, aligned) : [page.write(tape, ...both)];
    for (const tensor of made) tape.keep(tensor);
    tape.finish();
    return { tape, made, phase, rows };
  }

  /** Submits the encoder over a window, whose keys and values go to a slot's pages; features [frames, columns] */
  hear(slot: number, features: Float32Array<ArrayBuffer>): void {
    const { sound } = this.#transcriber;
    const rows = sound.rowsOf(features.length / sound.columns);
    const { writer } = this.#heard;
    writer.begin();
    writer.add({
      ...{ first: 0, rows, ids: [], slot: 0, lengthAt: () => rows },
      tables: [this.#pagesAt(slot).heard],
      spans: [{ first: 0, end: rows }],
    });
    writer.end();
    this.#rows[slot] = rows;
    this.#encoder.run(features);
  }

  #pagesAt(slot: number): { heard: number[]; own: number[] } {
    const { heard, own } = pagesOf(this.#transcriber);
    const from = (count: number): number[] => Array.from({ length: count }, (_, i) => slot * count + i);
    return { heard: from(heard), own: from(own) };
  }

  /** The logits of the wanted rows of all parts, in order. The parts are of one phase, and of different slots. */
  async step(parts: readonly WrittenPart[]): Promise<Float32Array[]> {
    const phase = phaseOf(parts[0]!);
    const sizes = this.#write(parts, phase);
    const { tape, made } = this.#recorded.find((one) => one.phase === phase && one.rows >= sizes.rows)!;
    tape.run(sizes, phase === 'prompt' ? { submitEvery: 1 } : {});
    return this.#read(tape, made[0]!, sizes.sampled);
  }

  /** The heads whose weights `align` computes, and of how many tokens at once, at most; null: the class aligns none. */
  get aligned(): (AlignedHeads & { rows: number }) | null {
    const { alignment, sound } = this.#transcriber;
    const rows = this.#aligning?.rows ?? 0;
    return (
      alignment && { ...alignment, heads: alignment.heads.length, keys: sound.rowsOf(sound.frames), rows }
    );
  }

  /** For each token of a part its weights for the sound's rows, of one alignment head after the other. */
  async align(part: Omit<WrittenPart, 'wanted'>): Promise<Float32Array[]> {
    const { tape, made } = this.#aligning!;
    const sizes = this.#write([{ ...part, wanted: [] }], 'prompt');
    tape.run(sizes, { submitEvery: 1 });
    const layers: Float32Array[][] = [];
    for (const weights of made) layers.push(await this.#read(tape, weights, sizes.rows));
    return Array.from({ length: sizes.rows }, (_, row) => joined(layers.map((of) => of[row]!)));
  }

  async #read(tape: Tape, made: Tensor, rows: number): Promise<Float32Array[]> {
    const { stride, columns } = made;
    const region = tape.region(made);
    const size = Math.min(region.size, 4 * rows * stride);
    const floats =
      size === 0 ? new Float32Array(0) : new Float32Array(await this.device.read({ ...region, size }));
    const error = this.device.takeError();
    if (error !== null) throw error;
    return Array.from({ length: rows }, (_, i) => floats.slice(i * stride, i * stride + columns));
  }

  #write(parts: readonly WrittenPart[], phase: Phase) {
    const [own, heard] = [this.#own.writer, this.#heard.writer];
    const tileRows = phase === 'decode' ? 1 : TILE_ROWS;
    for (const writer of [own, heard]) writer.begin({ tileRows });
    for (const { slot, ids, first, wanted } of parts) {
      const before = own.rows;
      const rows = ids.length - first;
      const pages = this.#pagesAt(slot);
      own.add({ first, rows, ids, slot: 0, tables: [pages.own], lengthAt: () => ids.length });
      for (const position of wanted) own.want(undefined, before + position - first);
      // All rows see the whole window.
      const last = this.#rows[slot]! - 1;
      heard.add({
        ...{ first: 0, rows, ids, slot: 0, tables: [pages.heard], lengthAt: () => rows },
        spans: [{ first: 0, end: rows, last }],
      });
    }
    const sizes = [own.end(), heard.end()] as const;
    return { ...sizes[0], contextPages: Math.max(...sizes.map(({ contextPages }) => contextPages)) };
  }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const phaseOf = ({ first, prompt }: WrittenPart): Phase => (first >= prompt ? 'decode' : 'prompt');
