// Log probabilities of a prompt's own tokens. The head runs on the hidden states of a step, some rows at a time, so that no more
// logits exist at once than in sampling.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { CHOICE_WORDS } from '../../../kernels/batch.ts';
import { LOGPROB_WORDS, logprobs } from '../../../kernels/logprobs.ts';
import type { LanguageModel } from '../../../models/text/blocks/architecture.ts';
import { createReadback } from './readback.ts';
import type { StepPart, StepSequence } from './step-part.ts';
import { loraOf } from './step.ts';

export interface PromptReader {
  /** Records the head on the hidden states of a forward pass. The logits for sampling are left unchanged. */
  record(forward: Tape, states: Tensor, logits: Tensor): Tape;
  /**
   * Submits the head. Must be called right after a step's forward pass, before other submissions. The returned function waits for the
   * results and
   passes them to the sequences; null: no sequence of the step requests them.
   */
  take(head: Tape, parts: readonly StepPart[]): (() => Promise<void>) | null;
}

/** A row whose next token is a token of the prompt. */
interface PromptRow {
  row: number;
  sequence: StepSequence;
  /** Position of the token in the prompt. */
  position: number;
}

/** u32 words of log probabilities in one choice; equal to the constant in shaders/lib/choice.wgsl. */
const CHOICE_LOGPROBS = 17;

/** `rows`: the most rows of a step; `slots`: the most rows of one run of the head. */
export function createPromptReader(
  device: Device,
  { head }: Pick<LanguageModel, 'head'>,
  { rows, slots }: { rows: number; slots: number },
): PromptReader {
  const allocate = (label: string, words: number): Region => {
    const buffer = device.allocate('step', label, 4 * words);
    return { buffer, offset: 0, size: buffer.size };
  };
  const wanted = allocate('prompt rows', slots);
  const ids = allocate('prompt tokens', slots);
  const adapters = allocate('adapters of prompt rows', slots);
  const choices = allocate('choices of prompt rows', CHOICE_WORDS * slots);
  const strip = allocate('log probabilities of some prompt rows', LOGPROB_WORDS * slots);
  const all = allocate('log probabilities of prompts', LOGPROB_WORDS * rows);
  const readback = createReadback(device, [all]);

  const write = (region: Region, words: Uint32Array<ArrayBuffer>): void =>
    device.gpu.queue.writeBuffer(region.buffer, 0, words);

  return {
    record(forward, states, logits) {
      const { capacity, rowAdapters } = forward;
      const tape = new Tape(device, capacity, { rowAdapters: rowAdapters && { sampled: adapters } });
      tape.borrow(forward, logits); // keeps other intermediates from being placed in their memory
      const own = head(tape.borrow(forward, states), { wanted });
      logprobs(own, { choices, ids }, strip, { tempered: false });
      tape.finish();
      return tape;
    },
    take(head, parts) {
      const rowsRead = promptRows(parts);
      if (rowsRead.length === 0) return null;
      const most = Math.max(...rowsRead.map(({ sequence }) => sequence.recorder!.promptTop!));
      const asked = new Uint32Array(CHOICE_WORDS * slots);
      for (let row = 0; row < slots; row++) asked[row * CHOICE_WORDS + CHOICE_LOGPROBS] = most + 1;
      write(choices, asked);
      const strips = head.capacity['sampled']!;
      for (let first = 0; first < rowsRead.length; first += strips) {
        const some = rowsRead.slice(first, first + strips);
        write(
          wanted,
          Uint32Array.from(some, ({ row }) => row),
        );
        write(
          ids,
          Uint32Array.from(some, ({ sequence, position }) => sequence.progress.ids[position]!),
        );
        write(
          adapters,
          Uint32Array.from(some, ({ sequence }) => loraOf(sequence)),
        );
        head.run(
          { sampled: some.length },
          {
            last: (encoder) =>
              encoder.copyBufferToBuffer(strip.buffer, 0, all.buffer, first * EACH, some.length * EACH),
          },
        );
      }
      const encoder = device.gpu.createCommandEncoder();
      const read = readback.copy(encoder, [rowsRead.length * EACH]);
      device.gpu.queue.submit([encoder.finish()]);
      return async () => {
        const [words] = await read();
        rowsRead.forEach(({ sequence, position }, i) =>
          sequence.recorder!.prompt(position, words!.slice(i * LOGPROB_WORDS, (i + 1) * LOGPROB_WORDS)),
        );
      };
    },
  };
}

const EACH = 4 * LOGPROB_WORDS;

/** Whether a step computes rows whose log probabilities are reported. */
export function asksForPrompt(parts: readonly StepPart[]): boolean {
  return promptRows(parts).length > 0;
}

function promptRows(parts: readonly StepPart[]): PromptRow[] {
  const rowsRead: PromptRow[] = [];
  let before = 0;
  for (const { sequence, first, rows } of parts) {
    const asks = sequence.recorder !== null && sequence.recorder.promptTop !== null;
    const count = asks ? Math.min(rows, sequence.progress.promptTokens - 1 - first) : 0;
    for (let i = 0; i < count; i++) rowsRead.push({ row: before + i, sequence, position: first + i + 1 });
    before += rows;
  }
  return rowsRead;
}
