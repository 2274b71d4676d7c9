// Records the blocks of a denoiser so that steps can take what they gave from earlier steps, and replays them as a decision says: a step computes
// its first blocks, then either the others or a sum of what they added before and of its divided differences, then the last blocks.

import { badRequest } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';

import { tapeOf, type Tape } from '../../../gpu/tape.ts';
import type { BlockRow, StepReuse, Tensor } from '../../../gpu/tensor.ts';
import { fillZeros } from '../../../gpu/memory.ts';
import { copy, copyInto, joinTokens } from '../../../kernels/copy-rows.ts';
import { absoluteSums, addScaled, differ } from '../../../kernels/features.ts';
import { scaledAdd } from '../../../kernels/scaled-add.ts';
import type { ReuseRule } from '../step-cache/decisions.ts';
import { FACTORS, RATE, ReuseRun, scalarCount } from '../step-cache/reuse-run.ts';
import { allocateTensor, type ComputeOptions, type Recording } from './compute.ts';
import { createScalars, type Scalars, type Scope } from './scope.ts';

/** A pass of a step: its parts end before these segments of the tape. */
interface Pass {
  head: number;
  computed: number;
  reused: number;
  scalars: Scalars;
  /** Σ of absolute changes and of absolute values, [1, 4]; null: nothing is measured. */
  sums: Tensor | null;
  run: ReuseRun;
}

export class ReuseRecorder implements StepReuse {
  readonly #device: Device;
  readonly #scope: Scope;
  readonly #rule: ReuseRule;
  readonly #steps: number;
  readonly #computes: boolean;
  /** Returns the sums of this rank's measurements, f32, and those of the ranks that decide with it. */
  readonly #sumsOfAll: (own: ArrayBuffer) => Promise<ArrayBuffer>;
  readonly #passes: Pass[] = [];
  readonly #keptTensors: Tensor[] = [];
  #index = Infinity;
  #reusedPasses = 0;

  /** `scope` owns what is kept. `passes`: those that are recorded one by one, of all ranks; 1: all of them are items of a batch, and decide together. */
  constructor(
    device: Device,
    scope: Scope,
    { rule, steps }: NonNullable<ComputeOptions['reuse']>,
    {
      compileOnly = false,
      onPaper = false,
      decides,
    }: Pick<ComputeOptions, 'compileOnly' | 'onPaper' | 'decides'>,
    passes: number,
  ) {
    this.#device = device;
    this.#scope = scope;
    this.#rule = rule;
    this.#steps = steps;
    this.#computes = !compileOnly && !onPaper;
    this.#sumsOfAll = async (own) => decides?.(own, passes === 1) ?? own;
  }

  blocks(rows: readonly BlockRow[], probe?: () => Tensor): void {
    const { lastBlocks, decision } = this.#rule;
    const [first, ...others] = rows as [BlockRow, ...BlockRow[]];
    const last = rows.at(-1)!;
    const firstBlocks = firstBlocksOf(this.#rule, rows);
    const tape = tapeOf(first.changed[0]!);
    const image = first.changed.at(-1)!;
    first.enter?.();
    const measured = decision.measure === 'probe' ? probe?.() : undefined;
    if (decision.measure === 'probe' && !measured)
      throw badRequest(
        say`${option('cacheDitConfig')} is teacache, and nothing tells how far the input of this model's blocks has moved: choose dbcache`,
        'cacheDitConfig',
      );
    const before = decision.measure === 'residual' ? copy(image) : null;
    for (const run of first.blocks.slice(0, firstBlocks)) run();
    const compared = measured ?? (before && scaledAdd(before, -1, image));
    const known = compared && this.#kept(compared, 'measured');
    const sums = compared && this.#measure(compared, known!.on(tape));
    if (measured) copyInto(measured, known!.on(tape)); // that of every step is compared with the next one's
    const head = tape.fork();
    if (compared && !measured) copyInto(compared, known!.on(tape));
    const inputs = others.length === 0 ? last.changed.map(copy) : [first.changed.reduce(joinTokens)];
    for (const [i, row] of rows.entries()) {
      if (i > 0) row.enter?.();
      const blocks = row === last ? row.blocks.slice(0, row.blocks.length - lastBlocks) : row.blocks;
      for (const run of blocks.slice(i === 0 ? firstBlocks : 0)) run();
    }
    const pass = this.#addPass(head, sums);
    const kept = last.changed.map((x, i) => this.#keep(scaledAdd(inputs[i]!, -1, x), pass.scalars));
    pass.computed = tape.fork();
    for (const row of others) row.enter?.();
    last.changed.forEach((x, i) =>
      kept[i]!.forEach((value, order) =>
        addScaled(x, value.on(tape), { scalars: pass.scalars.region, index: FACTORS + order }),
      ),
    );
    pass.reused = tape.fork();
    for (const run of last.blocks.slice(last.blocks.length - lastBlocks)) run();
  }

  get levels(): number {
    return this.#rule.levels;
  }

  deep(x: Tensor, record: (x: Tensor) => Tensor): Tensor {
    const tape = tapeOf(x);
    const pass = this.#addPass(tape.fork(), null);
    const y = record(x);
    const [value, ...differences] = this.#keep(copy(y), pass.scalars);
    pass.computed = tape.fork();
    copyInto(value!.on(tape), y);
    differences.forEach((one, i) =>
      addScaled(y, one.on(tape), { scalars: pass.scalars.region, index: FACTORS + 1 + i }),
    );
    pass.reused = tape.fork();
    return y;
  }

  /** Replays a step. `index`: that of the step in its plan. */
  async run(recording: Recording, index: number): Promise<void> {
    if (index <= this.#index) this.#begin();
    this.#index = index;
    this.#reusedPasses = 0;
    let at = 0;
    for (const { head, computed, reused, run, sums, scalars } of this.#passes) {
      await recording.runPart(at, head);
      const next = run.next(sums && run.hasKept && this.#computes ? await this.#changeIn(sums) : 0);
      scalars.write(next.scalars);
      if (next.reuses) this.#reusedPasses++;
      if (next.reuses) await recording.runPart(computed, reused);
      else await recording.runPart(head, computed);
      at = reused;
    }
    await recording.runPart(at);
  }

  /** Share of the passes of the last step that reused what was kept. */
  get reused(): number {
    return this.#passes.length === 0 ? 0 : this.#reusedPasses / this.#passes.length;
  }

  /** Forgets what was kept, so that the next step computes all blocks. */
  forget(): void {
    for (const { run } of this.#passes) run.forget();
  }

  #begin(): void {
    clearTensors(this.#device, this.#keptTensors);
    for (const pass of this.#passes) pass.run = this.#newRun();
  }

  #newRun(): ReuseRun {
    return new ReuseRun(this.#rule, this.#steps);
  }

  async #changeIn(sums: Tensor): Promise<number> {
    const own = await this.#device.read(sums.region!);
    const [apart, size] = new Float32Array(await this.#sumsOfAll(own));
    return apart! / size!;
  }

  #addPass(head: number, sums: Tensor | null): Pass {
    const scalars = this.#scope.use(
      createScalars(this.#device, 'scalars of a pass', scalarCount(this.#rule)),
    );
    const pass: Pass = { head, computed: head, reused: head, scalars, sums, run: this.#newRun() };
    this.#passes.push(pass);
    return pass;
  }

  /** Copies the sums of two tensors to where they can be read. */
  #measure(x: Tensor, known: Tensor): Tensor {
    const sums = this.#kept(known, 'change of a step', [1, 4]);
    copyInto(absoluteSums(x, known), sums.on(tapeOf(x)));
    return sums;
  }

  /** Keeps a value and its divided differences, which take the place of `value`. */
  #keep(value: Tensor, scalars: Scalars): Tensor[] {
    const { order } = this.#rule;
    const kept = Array.from({ length: order + 1 }, () => this.#kept(value, 'kept blocks'));
    const tape: Tape = tapeOf(value);
    for (const one of kept.slice(0, order))
      differ(value, one.on(tape), { scalars: scalars.region, index: RATE });
    copyInto(value, kept[order]!.on(tape));
    return kept;
  }

  #kept(model: Tensor, label: string, shape = model.shape): Tensor {
    const tensor = this.#scope.hold(allocateTensor(this.#device, label, shape as number[]));
    this.#keptTensors.push(tensor);
    return tensor;
  }
}

/** null: all steps compute everything. See the constructor of ReuseRecorder. */
export const recorderOf = (
  device: Device,
  scope: Scope,
  options: ComputeOptions,
  passes: number,
): ReuseRecorder | null =>
  options.reuse ? new ReuseRecorder(device, scope, options.reuse, options, passes) : null;

/** Fills tensors with zeros: what memory holds may be no number, which a factor of zero does not take away. */
export function clearTensors(device: Device, tensors: readonly Tensor[]): void {
  fillZeros(
    device,
    tensors.map(({ region }) => region!),
  );
}

/** Throws bad_request where the model has too few blocks. */
function firstBlocksOf({ firstBlocks, lastBlocks, orFewer }: ReuseRule, rows: readonly BlockRow[]): number {
  const [first, last] = [rows[0]!.blocks.length, rows.at(-1)!.blocks.length];
  const [most, mostLast] = rows.length === 1 ? [last - lastBlocks - 1, last - 1] : [first, last];
  const used = orFewer ? Math.max(0, Math.min(firstBlocks, most)) : firstBlocks;
  if (used <= most && lastBlocks <= mostLast) return used;
  throw badRequest(
    say`${option('cacheDitConfig')} computes ${firstBlocks} first and ${lastBlocks} last blocks in every step, and the model has ${first} that may come first and ${last} last, of which some are left out: give a smaller Fn_compute_blocks or Bn_compute_blocks`,
    'cacheDitConfig',
  );
}
