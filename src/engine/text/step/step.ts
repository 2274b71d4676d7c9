// Writes a planned step into the step buffers: its sequences as a batch, and how each is sampled.

import { EngineError } from '../../../files/error.ts';
import { BIAS_WORDS, CHOICE_WORDS, COUNT_WORDS, NO_LORA, TILE_ROWS } from '../../../kernels/batch.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import {
  draftedRows,
  sampledRows,
  type Phase,
  type SampledRow,
  type StepPart,
  type StepRequest,
  type StepSequence,
  type TokenBias,
} from './step-part.ts';
import type { BatchPart, BatchWriter, StepSizes } from './batch-writer.ts';

/** Numbers of entries written to the sampling buffers so far. */
interface Written {
  biases: number;
  /** Pairs of token and count. */
  counts: number;
  masks: number;
}

export interface PlannedStep {
  parts: readonly StepPart[];
  /** The phase of all rows; null: kernels do not tell phases apart. */
  phase: Phase | null;
  /** Whether all rows see keys and values that are expanded from latents; left out: they see what pages hold. */
  expanded?: boolean;
}

/** Writes the parts of a step with their sampling parameters, and uploads them. `processorId`: number of a request's own function. */
export function writeStep(
  writer: BatchWriter,
  { parts, phase, expanded = false }: PlannedStep,
  processorId: (source: string) => number = () => 0,
): StepSizes {
  const at: Written = { biases: 0, counts: 0, masks: 0 };
  const adapted = parts.some(({ sequence }) => sequence.request.lora !== null);
  writer.begin({ adapted, tileRows: phase === 'decode' ? 1 : TILE_ROWS, expanded });
  for (const part of parts) {
    writer.add(batchPart(part, writer.rows));
    sampledRows(part).forEach((row, nth) => writeSampled(writer, { part, row, nth }, at, processorId));
  }
  return writer.end({
    choices: writer.sampled * CHOICE_WORDS,
    biases: at.biases * BIAS_WORDS,
    counts: at.counts * COUNT_WORDS,
  });
}

/**
 * Scaled rotary frequencies depend on the prompt's length for its tokens, then on a length that grows with each token, as in
 * transformers' generate. The length depends on the position alone, so that computing a token again gives the same result.
 */
function batchPart({ sequence, first, rows, draft }: StepPart, row: number): BatchPart {
  const { promptTokens } = sequence.progress;
  const { media, source } = sequence.request;
  return {
    first,
    rows,
    ids: sequence.progress.ids,
    draft: draft?.ids,
    slot: sequence.placement.slot!,
    tables: sequence.placement.tables,
    passedPages: sequence.placement.passedPages,
    lengthAt: (token) => Math.max(promptTokens, token + 1),
    lora: sequence.request.lora?.number,
    source,
    ...(media && mediaPart(media, { first, rows, row })),
  };
}

/** The input embeddings of a row have its number. */
function mediaPart(
  media: PromptMedia,
  { first, rows, row }: { first: number; rows: number; row: number },
): Pick<BatchPart, 'inputs' | 'place' | 'spans'> {
  // Rows that are added leave the tokens what they are.
  if (media.isAdded) return { place: media.place };
  const runs = media.within(first, first + rows);
  const inputs = runs.map((run) => {
    const begin = Math.max(run.first, first);
    return { first: begin, end: Math.min(run.end, first + rows), input: row + begin - first };
  });
  return {
    inputs,
    place: media.place,
    ...(media.spans && { spans: runs.filter((run) => media.isSpan(run)) }),
  };
}

export function loraOf({ request }: StepSequence): number {
  return request.lora?.number ?? NO_LORA;
}

/** Row `nth` of those of a part that are sampled. */
interface NthRow {
  part: StepPart;
  row: SampledRow;
  nth: number;
}

/** Writes the sampling parameters of the token after a row. */
function writeSampled(
  writer: BatchWriter,
  { part, row, nth }: NthRow,
  at: Written,
  processorId: (source: string) => number,
): void {
  const { words } = writer;
  const { sequence, first, rows } = part;
  const drafted = draftedRows(part);
  const position = first + rows - drafted + nth;
  const { processor } = row.request;
  const bias = biasAt(row, position - sequence.progress.promptTokens);
  const pairs = countedPairs(part, row, words.counts.length - at.counts * COUNT_WORDS);
  writeChoice(words.choices, writer.sampled, row.request, {
    position,
    // Tokens after a draft are known when the next step is written, and several of one slot would overwrite each other.
    slot: drafted > 0 ? writer.spareSlot : sequence.placement.slot!,
    // The last token may not have been read back yet; the device adds it to the counts.
    pending: row.progress.counts !== null && drafted === 0 && sequence.progress.ids.length < position,
    bias,
    biases: at.biases,
    counts: at.counts,
    counted: pairs.length / COUNT_WORDS,
    mask: row.needsMask ? ++at.masks : 0,
    processor: processor === null ? 0 : processorId(processor),
  });
  writer.want(loraOf(sequence), writer.rows - 1 - drafted + nth);
  for (const [token, value] of bias) {
    words.biases.setUint32(8 * at.biases, token, true);
    words.biases.setFloat32(8 * at.biases++ + 4, value, true);
  }
  words.counts.set(pairs, at.counts * COUNT_WORDS);
  at.counts += pairs.length / COUNT_WORDS;
}

const NO_PAIRS = new Uint32Array(0);

/** Counted tokens of a sequence. Choices with equal tokens share KV pages but not counts; a sequence that exceeds `room` ends with an error. */
function countedPairs({ sequence }: StepPart, row: SampledRow, room: number): Uint32Array {
  const pairs = row.progress.counts?.pairs ?? NO_PAIRS;
  if (pairs.length <= room) return pairs;
  sequence.fail(
    new EngineError(
      'out_of_memory',
      `penalties count more tokens than a step holds (${pairs.length / COUNT_WORDS} in this choice): ask for fewer choices, or leave penalties out`,
    ),
  );
  return NO_PAIRS;
}

/** Logit biases of the token after `generated` generated ones. A constraint's mask excludes end tokens itself. */
function biasAt({ request, isConstrained }: SampledRow, generated: number): readonly TokenBias[] {
  const { sampling, minTokens } = request;
  return !isConstrained && generated < minTokens ? sampling.biasBelowMin : sampling.bias;
}

interface Place {
  /** Position of the token to be sampled; with the seed it determines the random number. */
  position: number;
  /** Slot that takes the sampled token. */
  slot: number;
  /** Whether the token last sampled in the slot is not counted yet. */
  pending: boolean;
  bias: readonly TokenBias[];
  /** Offsets of the row's biases and counts. */
  biases: number;
  counts: number;
  counted: number;
  /** Row of the masks, from 1; 0: none. */
  mask: number;
  /** Number of the request's own function on logits; 0: none. */
  processor: number;
}

function writeChoice(view: DataView, index: number, { sampling }: StepRequest, place: Place): void {
  const at = index * CHOICE_WORDS * 4;
  view.setFloat32(at, sampling.temperature, true);
  view.setFloat32(at + 4, sampling.topP, true);
  view.setFloat32(at + 8, sampling.minP, true);
  view.setUint32(at + 12, Math.max(sampling.topK, 0), true);
  view.setUint32(at + 16, sampling.seedLow, true);
  view.setUint32(at + 20, sampling.seedHigh, true);
  view.setUint32(at + 24, place.position, true);
  view.setUint32(at + 28, place.slot, true);
  view.setUint32(at + 32, place.biases, true);
  view.setUint32(at + 36, place.bias.length, true);
  view.setFloat32(at + 40, sampling.frequencyPenalty, true);
  view.setFloat32(at + 44, sampling.presencePenalty, true);
  view.setFloat32(at + 48, sampling.repetitionPenalty, true);
  view.setUint32(at + 52, place.counts, true);
  view.setUint32(at + 56, place.counted, true);
  view.setUint32(at + 60, Number(place.pending), true);
  view.setUint32(at + 64, place.mask, true);
  view.setUint32(at + 68, sampling.logprobs === null ? 0 : sampling.logprobs + 1, true);
  view.setUint32(at + 72, place.processor, true);
}
