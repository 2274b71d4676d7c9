// The dispatches of a tape, resolved for the sizes of one step and laid out in flat arrays. Steps of equal sizes, as in decoding,
// replay them without evaluating workgroup counts again: encoding then costs little more than its three WebGPU calls a dispatch.

import { argsSize } from './args.ts';
import type { Pipeline } from './device.ts';
import type { Dispatch, Groups } from './dispatch.ts';
import type { Operand } from './operand.ts';
import type { Sizes } from './tensor.ts';

interface Planned {
  pipeline: Pipeline;
  groups: (sizes: Sizes) => Groups;
}

export class ReplayPlan {
  readonly sizes: Sizes;
  readonly #names: readonly string[];
  readonly #sizes: readonly number[];
  readonly #pipelines: readonly GPUComputePipeline[];
  readonly #bindGroups: readonly GPUBindGroup[];
  /** Workgroups in x, y and z of each dispatch; x is 0 if the dispatch is skipped. */
  readonly #counts: Uint32Array;

  constructor(dispatches: readonly Planned[], bindGroups: readonly GPUBindGroup[], sizes: Sizes) {
    this.sizes = sizes;
    this.#names = Object.keys(sizes);
    this.#sizes = Object.values(sizes);
    this.#pipelines = dispatches.map(({ pipeline }) => pipeline.gpu);
    this.#bindGroups = bindGroups;
    this.#counts = new Uint32Array(3 * dispatches.length);
    dispatches.forEach(({ groups }, i) => {
      const [x, y = 1, z = 1] = groups(sizes);
      if (x > 0 && y > 0 && z > 0) this.#counts.set([x, y, z], 3 * i);
    });
  }

  /** Whether the plan was made for these sizes. */
  fits(sizes: Sizes): boolean {
    let at = 0;
    for (const name in sizes) {
      if (name !== this.#names[at] || sizes[name] !== this.#sizes[at]) return false;
      at++;
    }
    return at === this.#names.length;
  }

  /** Encodes the dispatches from index `from` to `to - 1`. */
  encode(pass: GPUComputePassEncoder, from: number, to: number): void {
    const pipelines = this.#pipelines;
    const bindGroups = this.#bindGroups;
    const counts = this.#counts;
    let bound: GPUComputePipeline | null = null;
    for (let i = from; i < to; i++) {
      const x = counts[3 * i]!;
      if (x === 0) continue;
      const pipeline = pipelines[i]!;
      if (pipeline !== bound) pass.setPipeline((bound = pipeline));
      pass.setBindGroup(0, bindGroups[i]);
      const y = counts[3 * i + 1]!;
      const z = counts[3 * i + 2]!;
      // Each argument of a call to the binding costs time, and most dispatches have one dimension.
      if (z > 1) pass.dispatchWorkgroups(x, y, z);
      else if (y > 1) pass.dispatchWorkgroups(x, y);
      else pass.dispatchWorkgroups(x);
    }
  }
}

/** Makes the bind groups of dispatches. `resource`: the memory of an operand of the dispatch with an index. */
export function bindGroupsOf(
  gpu: GPUDevice,
  dispatches: readonly (Pick<Dispatch, 'bind'> & { pipeline: Pipeline; argsOffset: number })[],
  argsBuffer: GPUBuffer,
  resource: (operand: Operand, dispatch: number) => GPUBufferBinding,
): GPUBindGroup[] {
  return dispatches.map(({ pipeline: { layout, shader }, bind, argsOffset }, i) =>
    gpu.createBindGroup({
      layout,
      entries: shader.bindings.map(({ name, index, type }) => ({
        binding: index,
        resource:
          type === 'uniform'
            ? { buffer: argsBuffer, offset: argsOffset, size: argsSize(shader) }
            : resource(bind[name]!, i),
      })),
    }),
  );
}

/** Throws if a size of a step exceeds what its tape was recorded for. */
export function checkSizes(sizes: Sizes, capacity: Sizes): void {
  for (const [name, size] of Object.entries(sizes))
    if (size > (capacity[name] ?? 0)) throw new Error(`${size} ${name} exceed the tape's ${capacity[name]}`);
}
