// Log probabilities of a prompt's own tokens. The head runs on the hidden states of a step, some rows at a time, so that no more
// logits exist at once than in sampling.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { CHOICE_WORDS } from '../../../kernels/batch.ts';
import { LOGPROB_WORDS, logprobs } from '../../../kernels/logprobs.ts';
import type { LanguageModel } from '../../../models/text/blocks/architecture.ts';
import { Readback } from './readback.ts';
import type { StepPart, StepSequence } from './step-part.ts';
import { loraOf } from './step.ts';

/** A row whose next token is a token of the prompt. */
interface PromptRow {
  row: number;
  sequence: StepSequence;
  /** Position of the token in the prompt. */
  position: number;
}

/** u32 words of log probabilities in one choice; equal to the constant in shaders/lib/choice.wgsl. */
const CHOICE_LOGPROBS = 17;

const EACH = 4 * LOGPROB_WORDS;

export class PromptReader {
  readonly #device: Device;
  readonly #head: LanguageModel['head'];
  readonly #slots: number;
  /** What a run of the head reads: its rows, their next tokens, the numbers of their LoRAs, and how many alternatives are reported. */
  readonly #wanted: Region;
  readonly #ids: Region;
  readonly #loras: Region;
  readonly #choices: Region;
  /** Log probabilities of one run of the head, and of all. */
  readonly #strip: Region;
  readonly #all: Region;
  readonly #readback: Readback;

  /** `rows`: the most rows of a step; `slots`: the most rows of one run of the head. */
  constructor(
    device: Device,
    { head }: Pick<LanguageModel, 'head'>,
    { rows, slots }: { rows: number; slots: number },
  ) {
    const allocate = (label: string, words: number): Region => {
      return wholeOf(device.allocate('step', label, 4 * words));
    };
    this.#device = device;
    this.#head = head;
    this.#slots = slots;
    this.#wanted = allocate('prompt rows', slots);
    this.#ids = allocate('prompt tokens', slots);
    this.#loras = allocate('LoRAs of prompt rows', slots);
    this.#choices = allocate('choices of prompt rows', CHOICE_WORDS * slots);
    this.#strip = allocate('log probabilities of some prompt rows', LOGPROB_WORDS * slots);
    this.#all = allocate('log probabilities of prompts', LOGPROB_WORDS * rows);
    this.#readback = new Readback(device, [this.#all]);
  }

  /** Records the head on the hidden states of a forward pass. The logits for sampling are left unchanged. */
  record(forward: Tape, states: Tensor, logits: Tensor): Tape {
    const { capacity, rowLoras } = forward;
    const tape = new Tape(this.#device, capacity, { rowLoras: rowLoras && { sampled: this.#loras } });
    tape.borrow(forward, logits); // keeps other intermediates from being placed in their memory
    const own = this.#head(tape.borrow(forward, states), { wanted: this.#wanted });
    logprobs(own, { choices: this.#choices, ids: this.#ids }, this.#strip, { tempered: false });
    tape.finish();
    return tape;
  }

  /**
   * Submits the head. Must be called right after a step's forward pass, before other submissions. The returned function waits for the
   * results and passes them to the sequences; null: no sequence of the step requests them.
   */
  take(head: Tape, parts: readonly StepPart[]): (() => Promise<void>) | null {
    const { gpu } = this.#device;
    const rowsRead = promptRows(parts);
    if (rowsRead.length === 0) return null;
    const most = Math.max(...rowsRead.map(({ sequence }) => sequence.recorder!.promptTop!));
    const asked = new Uint32Array(CHOICE_WORDS * this.#slots);
    for (let row = 0; row < this.#slots; row++) asked[row * CHOICE_WORDS + CHOICE_LOGPROBS] = most + 1;
    this.#write(this.#choices, asked);
    const strips = head.capacity['sampled']!;
    for (let first = 0; first < rowsRead.length; first += strips) {
      const some = rowsRead.slice(first, first + strips);
      const write = (region: Region, of: (row: PromptRow) => number): void =>
        this.#write(region, Uint32Array.from(some, of));
      write(this.#wanted, ({ row }) => row);
      write(this.#ids, ({ sequence, position }) => sequence.progress.ids[position]!);
      write(this.#loras, ({ sequence }) => loraOf(sequence));
      const last = (encoder: GPUCommandEncoder): void =>
        encoder.copyBufferToBuffer(this.#strip.buffer, 0, this.#all.buffer, first * EACH, some.length * EACH);
      head.run({ sampled: some.length }, { last });
    }
    const encoder = gpu.createCommandEncoder();
    const read = this.#readback.copy(encoder, [rowsRead.length * EACH]);
    gpu.queue.submit([encoder.finish()]);
    return async () => {
      const [words] = await read();
      rowsRead.forEach(({ sequence, position }, i) =>
        sequence.recorder!.prompt(position, words!.slice(i * LOGPROB_WORDS, (i + 1) * LOGPROB_WORDS)),
      );
    };
  }

  #write(region: Region, words: Uint32Array<ArrayBuffer>): void {
    this.#device.gpu.queue.writeBuffer(region.buffer, 0, words);
  }
}

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
