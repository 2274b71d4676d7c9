// Launchers record dispatches on a tape for a capacity (rows, sampled rows, tiles). The tape then owns pipelines, bind groups,
// arguments and the place of each intermediate. A replay takes a few microseconds per dispatch, for the step's sizes only.

import { createArgs } from './args.ts';
import type { ActivationDtype } from './adapter-profile.ts';
import { livesOf, type Arena, type BoundAt, type Life } from './arena.ts';
import { Changes } from './changes.ts';
import { checkDispatch, checkGroups } from './check-dispatch.ts';
import type { Device } from './device.ts';
import { limitTo, type Dispatch, type Encodable, type Recorded } from './dispatch.ts';
import { boundBy, boundInRounds, Replay, streamOperands } from './replay.ts';
import type { Meeting, ReplayOptions, Rounds, Streamed } from './replay.ts';
import { bindGroupsOf, checkSizes, ReplayPlan } from './replay-plan.ts';
import { isSlice, regionsOf, sliceBytes, sliceOffset, tensorOf, type Operand } from './operand.ts';
import { AUTO_ATTENTION, type AttentionChoice, type TapeOptions } from './tape-options.ts';
import type { PartSums, TokenSplit } from './tape-options.ts';
import { Tensor, type Dtype, type Extent, type Region, type Sizes, type StepReuse } from './tensor.ts';

export type { Operand } from './operand.ts';
export type { Dispatch, Encodable, Groups } from './dispatch.ts';

export class Tape {
  readonly device: Device;
  readonly capacity: Sizes;
  readonly plain: boolean;
  readonly rowLoras: Readonly<Record<string, Region>> | null;
  readonly decodes: readonly string[];
  readonly activations: ActivationDtype;
  readonly promptProducts: boolean;
  readonly attention: AttentionChoice;
  readonly reuse: StepReuse | null;
  readonly arena: Arena;
  readonly changes = new Changes();
  /** How the tokens of what is recorded next are divided; null: this device has all. */
  split: TokenSplit | null = null;
  /** The devices that divide the matrices; null: this one has them whole. */
  sums: PartSums | null = null;
  readonly #dispatches: Recorded[] = [];
  readonly #cuts: number[] = [];
  readonly #meetings: Meeting[] = [];
  readonly #rounds: Rounds[] = [];
  readonly #forks: number[] = [];
  readonly #kept = new Set<Tensor>();
  readonly #borrowed = new Map<Tensor, { tape: Tape; tensor: Tensor }>();
  readonly #args = createArgs();
  #argsBuffer: GPUBuffer | null = null;
  #slots = new Map<Tensor, number>();
  #bindGroups: GPUBindGroup[] = [];
  #replay: Replay | null = null;
  /** Operands in host memory and in files; null: there are none. */
  #streamed: Streamed | null = null;
  #generation = -1;

  constructor(
    device: Device,
    capacity: Sizes,
    {
      plain = false,
      rowLoras = null,
      decodes = [],
      promptProducts = false,
      activations = device.profile.activations,
      attention = AUTO_ATTENTION,
      reuse = null,
      arena = device.arena,
    }: TapeOptions = {},
  ) {
    this.device = device;
    this.arena = arena;
    this.capacity = capacity;
    this.plain = plain;
    this.rowLoras = rowLoras;
    this.decodes = decodes;
    this.activations = activations;
    this.promptProducts = promptProducts;
    this.attention = attention;
    this.reuse = reuse;
  }

  /** Creates an intermediate, whose memory is reserved only between the first and the last dispatch that binds it. */
  tensor(shape: readonly Extent[], dtype: Dtype = 'f32'): Tensor {
    return new Tensor(shape, dtype, { tape: this });
  }

  /** Number of lanes among which kernels of this tape may broadcast. */
  get lanes(): number {
    return this.plain ? 1 : this.device.capabilities.lanes;
  }

  dispatch(shader: string, dispatch: Dispatch): void {
    if (this.#argsBuffer) throw new Error(`${shader}: the tape is finished and records nothing more`);
    const pipeline = this.device.pipeline(shader, dispatch.params);
    checkDispatch(this, this, pipeline.shader, dispatch);
    this.#dispatches.push({
      ...dispatch,
      pipeline,
      argsOffset: this.#args.write(pipeline.shader, dispatch.args ?? {}),
    });
    this.changes.record(pipeline.shader.bindings, dispatch.bind);
  }

  /** Ends a segment, which is the unit of submitting, cancelling and taking turns. */
  cut(): void {
    const at = this.dispatchCount;
    if (at > 0 && this.#cuts.at(-1) !== at) this.#cuts.push(at);
  }

  /** Before dispatch `since` a replay gives the bytes of `from` to other devices, and before the next one it waits for those of `into`. */
  meet(exchanged: Omit<Meeting, 'at' | 'since'>, since = this.dispatchCount): void {
    this.#meetings.push({ ...exchanged, at: this.dispatchCount, since });
  }

  /** Records dispatches that a replay repeats, once for each round that `plan` returns when the dispatches before them are done. */
  repeat<T>(planned: Pick<Rounds, 'from' | 'plan'>, record: () => T): T {
    const first = this.dispatchCount;
    const recorded = record();
    this.#rounds.push({ ...planned, first, end: this.dispatchCount });
    return recorded;
  }

  /** Records dispatches that replays leave out for sizes of which `isWanted` is false. */
  only(isWanted: (sizes: Sizes) => boolean, record: () => void): void {
    const first = this.dispatchCount;
    record();
    for (const one of this.#dispatches.slice(first)) limitTo(one, isWanted);
  }

  /**
   * Ends a segment behind which replays may leave segments out, and returns the number of segments so far. Until then nothing is brought for later
   * segments, and what is made of rows is made again behind it.
   */
  fork(): number {
    this.cut();
    this.#forks.push(this.#dispatches.length);
    this.changes.forget();
    return this.#cuts.length;
  }

  /** Keeps a tensor readable after a replay, until another tape runs. */
  keep(tensor: Tensor): Tensor {
    this.#kept.add(tensor);
    return tensor;
  }

  /** Returns an operand for a tensor that another tape of the device keeps; that tape must have run directly before. */
  borrow(tape: Tape, tensor: Tensor): Tensor {
    if (!tape.#kept.has(tensor) && !tape.#borrowed.has(tensor))
      throw new Error(`a tensor of shape [${tensor.shape.join(', ')}] is not kept by its tape`);
    const borrowed = this.tensor(tensor.shape, tensor.dtype);
    this.#borrowed.set(borrowed, tape.#borrowed.get(tensor) ?? { tape, tensor });
    return borrowed;
  }

  get dispatchCount(): number {
    return this.#dispatches.length;
  }

  get segmentCount(): number {
    return this.#cuts.length;
  }

  /** Assigns memory to all tensors. Must be called once, after recording. */
  finish(): void {
    this.cut();
    this.#argsBuffer = this.#args.upload(this.device.gpu);
    for (const { pipeline, groups, unlimited = groups } of this.#dispatches)
      checkGroups(this.device, pipeline.shader.name, unlimited(this.capacity));
    const lives = this.#lives();
    const taken = new Set([...this.#borrowed.values()].map(({ tape, tensor }) => tape.#slots.get(tensor)!));
    const slots = this.arena.assign([...lives.values()], taken);
    this.#slots = new Map([...lives.keys()].map((tensor, i) => [tensor, slots[i]!]));
    const { host } = this.device;
    const bound = this.#dispatches.map(({ bind }) =>
      regionsOf(bind).filter(({ buffer }) => host.owns(buffer)),
    );
    this.#streamed = streamOperands(this, bound, { cuts: this.#cuts, forks: this.#forks });
    if (this.#streamed) host.stage(this, this.#streamed.staging);
  }

  /** Frees the tape's own resources. Submitted work still completes. */
  destroy(): void {
    this.#argsBuffer?.destroy();
    this.device.host.stage(this, 0);
  }

  /** Returns the region of a kept tensor, which is valid until the arena changes. */
  region(tensor: Tensor): Region {
    if (tensor.region) return tensor.region;
    return { ...this.#padded(tensor), size: tensor.bytes(this.capacity) };
  }

  /** Returns the region of a tensor including the padding rows after its last one. */
  #padded(tensor: Tensor): Region {
    if (tensor.region) return tensor.region;
    const borrowed = this.#borrowed.get(tensor);
    if (borrowed) return borrowed.tape.#padded(borrowed.tensor);
    const slot = this.#slots.get(tensor);
    if (slot === undefined)
      throw new Error(`a tensor of shape [${tensor.shape.join(', ')}] is bound nowhere on this tape`);
    return { buffer: this.arena.buffer(slot), offset: 0, size: tensor.heldBytes(this.capacity) };
  }

  /** Whether a replay has to wait between its submits, because it reads operands from files or exchanges some with other devices. */
  get waits(): boolean {
    return this.#meetings.length + this.#rounds.length > 0 || (this.#streamed?.staging ?? 0) > 0;
  }

  /** Replays all segments of a tape that waits for nothing. `submitEvery` segments go into one submit; `last` may add copies to the last one. */
  run(sizes: Sizes, options: ReplayOptions = {}): void {
    if (this.waits) throw new Error('the tape waits for files or other devices: wait for `replay`');
    const submits = this.submits(sizes, options);
    while (submits.next().done !== true) continue;
  }

  /** Replays like `run`; resolves when all is submitted. Throws what reading files and exchanging throw. */
  async replay(sizes: Sizes, options: ReplayOptions = {}): Promise<void> {
    for (const waits of this.submits(sizes, options)) await waits;
  }

  /**
   * Replays like `run` and yields after each submit but the last: a caller that stops iterating skips the remaining segments. Where the
   * next submit needs bytes of a file or of another device, a promise is yielded that the caller has to wait for.
   */
  submits(sizes: Sizes, options: ReplayOptions): Generator<Promise<void> | null, void, void> {
    return this.#replayFor(sizes).submits(options);
  }

  /** Encodes a whole replay into a command buffer that the caller submits. */
  encode(encoder: GPUCommandEncoder, sizes: Sizes): void {
    if (this.waits) throw new Error('the tape waits for files or other devices: wait for `replay`');
    this.#replayFor(sizes).encode(encoder);
  }

  /** Returns the replay for these sizes; the previous one, if its sizes were equal. */
  #replayFor(sizes: Sizes): Replay {
    this.#prepare();
    if (this.#replay?.plan.fits(sizes)) return this.#replay;
    checkSizes(sizes, this.capacity);
    const plan = new ReplayPlan(this.#dispatches, this.#bindGroups, sizes);
    const waits = { meetings: this.#meetings, rounds: this.#rounds };
    return (this.#replay = new Replay(this, plan, this.#streamed, this.#cuts, waits));
  }

  /** Returns the dispatches of a replay one by one, for the profiler and for compiling in advance. */
  encodables(sizes: Sizes): Encodable[] {
    this.#prepare();
    return this.#dispatches.map(({ pipeline, tuned, groups }, i) => ({
      name: pipeline.shader.name,
      tuned,
      pipeline: pipeline.gpu,
      bindGroup: this.#bindGroups[i]!,
      groups: groups(sizes),
    }));
  }

  #prepare(): void {
    const { arena, device } = this;
    const argsBuffer = this.#argsBuffer;
    if (!argsBuffer) throw new Error('the tape is not finished');
    arena.settle();
    if (this.#generation === arena.generation) return;
    this.#generation = arena.generation;
    this.#replay = null;
    this.#bindGroups = bindGroupsOf(device.gpu, this.#dispatches, argsBuffer, (operand, i) =>
      this.#resource(operand, i),
    );
  }

  #resource(operand: Operand, dispatch: number): GPUBufferBinding {
    const tensor = tensorOf(operand);
    const region = tensor ? this.#padded(tensor) : (operand as Region);
    const { buffer, offset, size } = this.device.host.owns(region.buffer)
      ? {
          buffer: this.arena.buffer(this.#streamed!.streams.slotAt(region, dispatch)),
          offset: 0,
          size: region.size,
        }
      : region;
    if (!isSlice(operand)) return { buffer, offset, size };
    return { buffer, offset: offset + sliceOffset(operand), size: sliceBytes(operand) };
  }

  #lives(): Map<Tensor, Life> {
    const bound = this.#dispatches.map(({ bind }, i): BoundAt => [i, Object.values(bind)]);
    const lives = livesOf(
      [...bound, ...boundBy(this.#meetings), ...boundInRounds(this.#rounds, bound)],
      (tensor) => !tensor.region && !this.#borrowed.has(tensor),
      this.capacity,
    );
    for (const [tensor, life] of lives) if (this.#kept.has(tensor)) life.last = this.#dispatches.length;
    return lives;
  }
}

/** Returns the tape that computes `x`. Throws if the tensor has a buffer of its own and was not put on a tape by `on`. */
export function tapeOf(x: Pick<Tensor, 'tape' | 'shape'>): Tape {
  if (!(x.tape instanceof Tape))
    throw new Error(`a tensor of shape [${x.shape.join(', ')}] belongs to no tape`);
  return x.tape;
}
