// Finds the tensors of a model that a LoRA's modules change, by the scheme of the model's family.

import { withColumns } from '../checkpoint/padded-columns.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import type { NamedRows, Rename } from '../pipeline/file-layout.ts';
import type { ImageLora } from './image-lora.ts';
import { elements, isWhole, sizeOfDelta, type ImageLoraModule, type Delta } from './module.ts';
import type { LoraTarget, LoraSign, TensorShapes } from './scheme.ts';

/** The change of one tensor by a module. */
export interface Change {
  module: string;
  delta: Delta;
  magnitude: TensorEntry | null;
  /** Row of the delta that belongs to the tensor's first row: a module may change several tensors, such as q, k and v. */
  firstRow: number;
}

/** Changes by component and tensor. */
export type Changes = ReadonlyMap<string, ReadonlyMap<string, readonly Change[]>>;

export interface Match {
  changes: Changes;
  /** Names of modules of which the model has none, and tensors that are not factors. */
  unmatched: readonly string[];
  /** The first module whose shape differs from the model's; null: all fit. */
  misfit: { module: string; given: readonly number[]; wanted: readonly number[] } | null;
}

/** A component's names and shapes with what its family declares of them. */
export interface MatchedTarget extends LoraTarget {
  tensors: TensorShapes;
}

export function matchLora({ modules, unknown }: ImageLora, parts: readonly MatchedTarget[]): Match {
  const finders = parts.map((part) => new Finder(part));
  const changes = new Map<string, Map<string, Change[]>>();
  const unmatched = [...unknown];
  let misfit: Match['misfit'] = null;
  for (const module of modules) {
    const found = finders.map((finder) => finder.find(module)).find((targets) => targets !== null);
    if (!found) {
      unmatched.push(module.name);
      continue;
    }
    misfit ??= found.misfit;
    const own = changes.get(found.component) ?? new Map<string, Change[]>();
    for (const { tensor, change } of found.targets) own.set(tensor, [...(own.get(tensor) ?? []), change]);
    changes.set(found.component, own);
  }
  return { changes, unmatched, misfit };
}

/** The sign of the models that a file's names and shapes show, of those that are known; null: none. */
export function signOf({ modules }: ImageLora, signs: readonly LoraSign[]): LoraSign | null {
  const ordered = signs.toSorted((a, b) => vagueness(a) - vagueness(b));
  return ordered.find((sign) => isShown(sign, modules)) ?? null;
}

/** Names that only one family has say more than sizes. */
function vagueness({ isVague, columns, rows, width, last }: LoraSign): number {
  if (isVague) return 2;
  return [columns, rows, width, last].every((size) => size === undefined) ? 0 : 1;
}

function isShown(
  { module, columns, rows, width, last }: LoraSign,
  modules: readonly ImageLoraModule[],
): boolean {
  const found = modules.filter(({ name, weight }) => {
    if (!module.test(name)) return false;
    if (columns === undefined && rows === undefined && width === undefined) return true;
    if (weight === null) return false;
    const own = sizeOfDelta(weight);
    const fits = (wanted: number | undefined, size: number): boolean =>
      wanted === undefined || wanted === size;
    return fits(columns, own.columns) && fits(rows, own.rows) && fits(width, Math.min(own.rows, own.columns));
  });
  if (found.length === 0 || last === undefined) return found.length > 0;
  const highest = Math.max(...found.map(({ name }) => Number(module.exec(name)![1])));
  return last[0] <= highest && highest <= last[1];
}

interface Found {
  component: string;
  targets: { tensor: string; change: Change }[];
  misfit: Match['misfit'];
}

/** Finds modules of one component by all spellings of their names. */
class Finder {
  readonly #part: MatchedTarget;
  readonly #others: ReturnType<NonNullable<LoraTarget['others']>>;
  /** Modules by their names with underscores in place of dots. */
  readonly #flat: ReadonlyMap<string, string>;

  constructor(part: MatchedTarget) {
    this.#part = part;
    this.#others = part.others?.(part.tensors) ?? [];
    const modules = [...part.tensors.keys()].map((name) => name.replace(/\.(weight|bias)$/, ''));
    this.#flat = new Map(modules.map((module) => [module.replaceAll('.', '_'), module]));
  }

  find(module: ImageLoraModule): Found | null {
    const deltas = (
      [
        ['weight', module.weight],
        ['bias', module.bias],
      ] as const
    ).filter((each): each is [(typeof each)[0], Delta] => each[1] !== null);
    const rows = deltas.map(([kind, delta]) => this.#rowsOf(module.name, kind, delta));
    if (!rows.every((each) => each !== null)) return null;
    const found: Found = { component: this.#part.component, targets: [], misfit: null };
    deltas.forEach(([kind, stored], i) => {
      const { magnitude: own, name } = module;
      const magnitude = kind === 'weight' ? own : null;
      for (const { name: tensor, rows: given } of rows[i]!) {
        const delta = this.#widened(tensor, stored);
        const change = { module: name, delta, magnitude, firstRow: given?.first ?? 0 };
        found.targets.push({ tensor, change });
        found.misfit ??= this.#misfit(tensor, change, given?.count);
      }
    });
    return found;
  }

  /** Tensors that a delta changes, with its rows for each; null: the component has no such module. */
  #rowsOf(module: string, kind: 'weight' | 'bias', delta: Delta): readonly NamedRows[] | null {
    const { dotted, flat, tensors } = this.#part;
    const { rows, columns } = sizeOfDelta(delta);
    const shape = kind === 'weight' ? [rows, columns] : [rows];
    for (const name of this.#spellings(module, dotted, flat)) {
      const own = `${name.text}.${kind}`;
      const named = name.rename ? name.rename(own, shape) : own;
      const all = typeof named === 'string' ? [{ name: named }] : named;
      if (all.length > 0 && all.every((each) => tensors.has(each.name) && !each.isTransposed)) return all;
    }
    return null;
  }

  /** A module's possible names in the component, with the function that gives its tensors their names. */
  *#spellings(
    module: string,
    dotted: readonly string[],
    flat: readonly string[],
  ): Generator<{ text: string; rename: Rename | null }> {
    for (const prefix of dotted) {
      if (!module.startsWith(prefix)) continue;
      const text = module.slice(prefix.length);
      yield { text, rename: null };
      for (const { rename } of this.#others) yield { text, rename };
    }
    for (const prefix of flat) {
      if (!module.startsWith(prefix)) continue;
      const joined = module.slice(prefix.length).replace(/^_+/, '');
      const own = this.#flat.get(joined);
      if (own !== undefined) yield { text: own, rename: null };
      for (const { rename, words } of this.#others) yield { text: divided(joined, words), rename };
    }
  }

  /** A change of fewer inputs than the first layer has leaves the others as they are. */
  #widened(tensor: string, delta: Delta): Delta {
    const [factor] = delta.factors;
    if (tensor !== this.#part.input || delta.kind !== 'sum' || isWhole(factor!) || factor!.mid) return delta;
    const [, columns = 1] = this.#part.tensors.get(tensor)!.shape;
    return { ...delta, factors: [{ ...factor!, a: withColumns(factor!.a, columns) }] };
  }

  #misfit(tensor: string, { module, delta, firstRow }: Change, count: number | undefined): Match['misfit'] {
    const [rows = 1, ...behind] = this.#part.tensors.get(tensor)!.shape;
    const own = sizeOfDelta(delta);
    const given = [count ?? own.rows, own.columns];
    const wanted = [rows, elements(behind)];
    const fits = given.every((size, i) => size === wanted[i]) && firstRow + rows <= own.rows;
    return fits ? null : { module, given, wanted };
  }
}

/** Divides a name joined by underscores into parts joined by dots; `words` stay whole. */
function divided(joined: string, words: readonly string[]): string {
  const pieces = joined.split('_');
  const parts: string[] = [];
  const most = Math.max(1, ...words.map((word) => word.split('_').length));
  for (let at = 0; at < pieces.length;) {
    let length = Math.min(most, pieces.length - at);
    while (length > 1 && !words.includes(pieces.slice(at, at + length).join('_'))) length--;
    parts.push(pieces.slice(at, at + length).join('_'));
    at += length;
  }
  return parts.join('.');
}
