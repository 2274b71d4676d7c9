// What a model page asks of a checkpoint: every tensor it names must be there with the right shape, and the checkpoint may hold no other.

import { EngineError } from '../../files/error.ts';
import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { quantizedSign } from '../../files/quantized.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import type { WeightTable } from '../../models/weights.ts';
import { SOURCES } from './upload.ts';

const HEAD = 'lm_head.weight';
const UNTIED =
  'config.json does not tie it to the embedding (tie_word_embeddings); take both files from where the model was published';
const MISMATCH = 'the weights and config.json are not of one model, take both from where it was published';

export interface WeightNames {
  /** The tensor of that name. Throws bad_checkpoint where it is missing, or has another shape or type, and unsupported where codes stand for weights. */
  find(name: string, shape: readonly number[]): TensorEntry;
  /** Names that need not be asked for. */
  ignore(names: RegExp): void;
  /** Throws bad_checkpoint for a tensor that was not asked for. */
  requireAll(): void;
}

export function weightNames(tensors: ReadonlyMap<string, TensorEntry>): WeightNames {
  const found = new Set<string>();
  const ignored: RegExp[] = [];
  /** Nothing here is mended by another download, unless the header was damaged. */
  const broken = (tensor: string, reason: string, remedy: string): EngineError => {
    const sign = quantizedSign(tensors);
    if (sign === null) {
      return new EngineError('bad_checkpoint', `tensor ${tensor} ${reason}: ${remedy}`, { param: tensor });
    }
    return new EngineError(
      'unsupported',
      `the weights are quantized already (${sign}), which is not read: take the original checkpoint, and \`quantization\` int8 or int4 for its size`,
      { param: tensor },
    );
  };
  return {
    find(name, shape) {
      const entry = tensors.get(name);
      if (!entry) throw broken(name, 'is missing', name === HEAD ? UNTIED : MISMATCH);
      if (squeezed(entry.shape).join() !== squeezed(shape).join()) {
        throw broken(
          name,
          `has the shape [${entry.shape.join(', ')}], config.json asks for [${shape.join(', ')}]`,
          MISMATCH,
        );
      }
      if (!SOURCES[entry.dtype])
        throw broken(
          name,
          `is stored as ${entry.dtype}, and only F32, F16 and BF16 are read`,
          'choose a checkpoint whose weights are in one of them',
        );
      found.add(name);
      return entry;
    },
    ignore: (names) => void ignored.push(names),
    requireAll() {
      const [first, ...others] = [...tensors.keys()].filter(
        (name) => !found.has(name) && !ignored.some((names) => names.test(name)),
      );
      if (first === undefined) return;
      const more = others.length > 0 ? `(and ${others.length} more) ` : '';
      throw broken(first, `${more}is not part of the architecture that config.json names`, MISMATCH);
    },
  };
}

/** Throws what loading the page would throw, before a byte is read or taken on the device. */
export function checkWeights(
  tensors: ReadonlyMap<string, TensorEntry>,
  build: (table: WeightTable) => unknown,
): void {
  const names = weightNames(tensors);
  const nothing = {} as Matrix & Tensor;
  const ask = (name: string, shape: number[], bias?: string | false): Matrix & Tensor => {
    names.find(name, shape);
    if (bias) names.find(bias, shape.slice(0, 1));
    return nothing;
  };
  const biasOf = (name: string, bias: boolean): string | false => bias && name.replace(/weight$/, 'bias');
  build({
    has: (name) => tensors.has(name),
    vector: (name, size) => ask(name, [size]),
    table: (name, rows, columns) => ask(name, [rows, columns]),
    matrix: (name, rows, k, bias) => ask(name, [rows, k], bias),
    router: (name, rows, k) => ask(name, [rows, k]),
    experts(experts, rows, k) {
      for (const name of experts) ask(name, [rows, k]);
      return nothing;
    },
    expertGateUps(pairs, rows, k) {
      for (const { gate, up } of pairs) for (const name of [gate, up]) ask(name, [rows, k]);
      return nothing;
    },
    conv: (name, out, channels, kernel, { bias = true } = {}) =>
      ask(name, kernel === 1 ? [out, channels] : [out, channels, kernel, kernel], biasOf(name, bias)),
    stacked(parts, k, bias = false) {
      for (const { name, rows } of parts) ask(name, [rows, k], biasOf(name, bias));
      return nothing;
    },
    gateUp(gate, up, rows, k, bias = false) {
      for (const name of [gate, up]) ask(name, [rows, k], biasOf(name, bias));
      return nothing;
    },
    geglu: (name, rows, k, bias = false) => ask(name, [2 * rows, k], biasOf(name, bias)),
    ignore: names.ignore,
  });
  names.requireAll();
}

/** [out, in, 1, 1] is [out, in]. */
function squeezed(shape: readonly number[]): readonly number[] {
  return shape.length === 4 && shape[2] === 1 && shape[3] === 1 ? shape.slice(0, 2) : shape;
}
