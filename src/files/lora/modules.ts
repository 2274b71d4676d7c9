// Modules of a LoRA's file: tensors are gathered by the module that they belong to, and the shapes of a module's factors are checked
// against each other.

import type { TensorEntry } from '../tensors/safetensors.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { readKey, unbuiltMethod, type FactorMethod, type FactorRole } from './keys.ts';
import { elements, sizeOf, type ImageLoraModule, type Delta, type Factor } from './module.ts';

/** Factor on a module's delta, where the file's settings state one; null: they do not, and the rank's own is 1. */
export type StatedScale = (module: string, rank: number) => number | null;

export interface ReadModules {
  modules: ImageLoraModule[];
  /** Names of tensors that no factor is named like. */
  unknown: string[];
}

type Tensors = Partial<Record<FactorRole, TensorEntry>>;

interface Gathered {
  name: string;
  method: FactorMethod;
  tensors: Tensors;
}

/** Largest magnitude of an alpha that has an effect. */
const MOST_ALPHA = 1e6;

/**
 * `alphas`: values of the tensors named alpha, by name; where all factors are whole they have no effect, and programs write any value
 * there. Throws bad_checkpoint and unsupported with the tensor's name.
 */
export function readModules(
  path: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  alphas: ReadonlyMap<string, number>,
  stated: StatedScale,
): ReadModules {
  const { gathered, unknown } = gather(path, tensors);
  const modules = gathered.map((found) => moduleOf(new Shapes(path, found), found, alphas, stated));
  return { modules, unknown };
}

function gather(
  path: string,
  tensors: ReadonlyMap<string, TensorEntry>,
): { gathered: Gathered[]; unknown: string[] } {
  const found = new Map<string, Gathered>();
  const unknown: string[] = [];
  for (const [name, entry] of tensors) {
    const key = readKey(name);
    if (key === null) {
      refuseMethod(path, name);
      unknown.push(name);
      continue;
    }
    const { module, method, role } = key;
    // A module has one method; its alpha, magnitude and bias are named alike in all.
    const own = found.get(module) ?? { name: module, method: 'lora', tensors: {} };
    if (own.tensors[role])
      throw broken(path, name, `and ${own.tensors[role].name} hold the same factor of ${module}`);
    if (method !== 'lora') {
      if (own.method !== 'lora' && own.method !== method)
        throw broken(path, name, `is of another method than the other factors of ${module}`);
      own.method = method;
    }
    own.tensors[role] = entry;
    found.set(module, own);
  }
  return { gathered: [...found.values()], unknown };
}

function refuseMethod(path: string, name: string): void {
  const method = unbuiltMethod(name);
  if (method === null) return;
  throw unsupported(
    `${path}: tensor ${name} is of ${method}, which is not built; LoRA, LoCon, LoHa, LoKr and DoRA are: merge the LoRA into its model, or choose one of those`,
    name,
  );
}

function moduleOf(
  shapes: Shapes,
  { name, method, tensors }: Gathered,
  alphas: ReadonlyMap<string, number>,
  stated: StatedScale,
): ImageLoraModule {
  const { alpha, diff, diff_b: biasDiff, value, magnitude = null } = tensors;
  const low = method === 'lora' ? shapes.lora() : method === 'hada' ? shapes.hadamard() : shapes.kronecker();
  if (value && (low || diff)) throw shapes.broken(value, 'is a whole weight beside what is added to it');
  if (low && diff) throw shapes.broken(diff, 'is a whole difference beside low-rank factors');
  const scale = (rank: number | null): number => {
    if (rank === null) return 1;
    const value = alpha && alphas.get(alpha.name);
    if (value === undefined) return stated(name, rank) ?? 1;
    if (Math.abs(value) <= MOST_ALPHA) return value / rank;
    throw shapes.wrongAlpha(alpha!, String(value));
  };
  const weight: Delta | null = low
    ? { kind: low.kind, factors: low.factors, scale: scale(low.rank) }
    : diff
      ? { kind: 'sum', factors: [{ whole: diff }], scale: 1 }
      : value
        ? { kind: 'sum', factors: [{ whole: value }], scale: 1, replaces: true }
        : null;
  if (weight === null && !biasDiff) {
    const [only] = Object.values(tensors);
    throw shapes.broken(only!, 'has no factors beside it');
  }
  if (magnitude && !weight) throw shapes.broken(magnitude, 'has no factors beside it');
  // The bias of PEFT's second factor has that factor's scale; whole differences have none.
  const biasScale = low && method === 'lora' ? scale(low.rank) : 1;
  const isOfFactor = biasDiff !== undefined && biasDiff.name.endsWith('.bias');
  return {
    name,
    weight,
    bias: biasDiff
      ? { kind: 'sum', factors: [{ whole: biasDiff }], scale: isOfFactor ? biasScale : 1 }
      : null,
    magnitude,
  };
}

interface LowRank {
  kind: Delta['kind'];
  factors: Factor[];
  /** null: all factors are whole, and alpha has no effect. */
  rank: number | null;
}

/** Checks the shapes of a module's factors against each other. */
class Shapes {
  readonly #path: string;
  readonly #name: string;
  readonly #tensors: Tensors;

  constructor(path: string, { name, tensors }: Gathered) {
    this.#path = path;
    this.#name = name;
    this.#tensors = tensors;
  }

  lora(): LowRank | null {
    const { up, down, mid } = this.#tensors;
    if (!up && !down && !mid) return null;
    const factor = this.#product('up', 'down', mid, false);
    return { kind: 'sum', factors: [factor.factor], rank: factor.rank };
  }

  hadamard(): LowRank {
    const { t1, t2 } = this.#tensors;
    if ((t1 === undefined) !== (t2 === undefined))
      throw this.broken((t1 ?? t2)!, 'is one of two cores, and the other is missing');
    const first = this.#product('w1_a', 'w1_b', t1, t1 !== undefined);
    const second = this.#product('w2_a', 'w2_b', t2, t2 !== undefined);
    const [one, two] = [sizeOf(first.factor), sizeOf(second.factor)];
    if (one.rows !== two.rows || one.columns !== two.columns)
      throw this.broken(this.#tensors.w1_a!, `makes ${one.rows} × ${one.columns} weights, and w2_a others`);
    return { kind: 'hadamard', factors: [first.factor, second.factor], rank: first.rank };
  }

  kronecker(): LowRank {
    const first = this.#whole('w1') ?? this.#product('w1_a', 'w1_b', undefined, false);
    const { t2 } = this.#tensors;
    const second = this.#whole('w2') ?? this.#product('w2_a', 'w2_b', t2, t2 !== undefined);
    return { kind: 'kronecker', factors: [first.factor, second.factor], rank: second.rank ?? first.rank };
  }

  broken({ name }: Pick<TensorEntry, 'name'>, problem: string): EngineError {
    return broken(this.#path, name, problem);
  }

  wrongAlpha({ name }: Pick<TensorEntry, 'name'>, found: string): EngineError {
    return wrongAlpha(this.#path, name, found);
  }

  #whole(role: 'w1' | 'w2'): { factor: Factor; rank: null } | null {
    const whole = this.#tensors[role];
    const pieces = [this.#tensors[`${role}_a`], this.#tensors[`${role}_b`]];
    if (!whole) return null;
    if (pieces.some(Boolean)) throw this.broken(whole, 'stands beside factors of itself');
    if (elements(whole.shape) === 0 || whole.shape.length < 2)
      throw this.broken(whole, `has the shape [${whole.shape.join(', ')}], and a matrix is needed`);
    return { factor: { whole }, rank: null };
  }

  /** `isTransposed`: in Tucker's form of LoHa and LoKr the first factor is [rank, rows]. */
  #product(
    left: FactorRole,
    right: FactorRole,
    mid: TensorEntry | undefined,
    isTransposed: boolean,
  ): { factor: Factor; rank: number } {
    const b = this.#tensors[left];
    const a = this.#tensors[right];
    if (!a || !b) {
      const [other] = Object.values(this.#tensors);
      throw this.broken(other!, `has no ${b ? right : left} of ${this.#name} beside it`);
    }
    const [rank = 0] = a.shape;
    const stated = b.shape[isTransposed ? 0 : 1];
    const fits = b.shape.length >= 2 && a.shape.length >= 2 && elements(b.shape.slice(2)) === 1;
    if (!fits || rank < 1 || stated !== rank || elements(a.shape) === 0 || elements(b.shape) === 0) {
      const shown = [b, a].map(({ shape }) => `[${shape.join(', ')}]`).join(' and ');
      throw this.broken(b, `and ${a.name} have the shapes ${shown}, which make no product`);
    }
    if (
      mid &&
      (mid.shape.length < 3 || mid.shape[0] !== rank || mid.shape[1] !== rank || elements(mid.shape) === 0)
    )
      throw this.broken(mid, `has the shape [${mid.shape.join(', ')}], and [${rank}, ${rank}, …] is needed`);
    if (mid && elements(a.shape.slice(2)) !== 1)
      throw this.broken(a, `has the shape [${a.shape.join(', ')}] beside a core, and a matrix is needed`);
    return { factor: { b, a, mid: mid ?? null, isTransposed }, rank };
  }
}

export function wrongAlpha(path: string, name: string, found: string): EngineError {
  return broken(path, name, `is ${found}, and a number up to ${MOST_ALPHA} is needed`);
}

function broken(path: string, name: string, problem: string): EngineError {
  return badCheckpoint(
    `${path}: tensor ${name.slice(0, 256)} ${problem}: take the file from where the LoRA was published`,
    name,
  );
}
