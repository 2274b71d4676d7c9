// Names of the tensors of whole models in files of other programs, against the converters of diffusers and llama.cpp.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { collect } from '../../../../src/engine/weights/collect.ts';
import type { FileHeader, PartLayout } from '../../../../src/files/pipeline/file-layout.ts';
import { findPart } from '../../../../src/files/pipeline/file-parts.ts';
import type { FileTensor } from '../../../../src/files/pipeline/float8-tensors.ts';
import { tensorsOf, type WeightTable } from '../../../../src/models/weights.ts';
import type { StoredTensor, StoredTensors } from '../tiny-tensors.ts';

export const GOLDEN = JSON.parse(
  readFileSync(new URL('../../../golden/image-files.json', import.meta.url), 'utf8'),
) as Record<string, { tensors: number; sha256: string }>;

export type Json = Record<string, unknown>;

/** Tensors that pages ask for, without bytes. */
export function headersOf(...pages: ((table: WeightTable) => unknown)[]): StoredTensors {
  const requests = pages.flatMap((page) => collect(new Map(), page).requests.flatMap(tensorsOf));
  const header = (name: string, shape: readonly number[]): StoredTensor => ({
    name,
    dtype: 'F16',
    shape: [...shape],
    bytes: new Uint8Array(),
  });
  return new Map(requests.map(({ name, shape }) => [name, header(name, shape)]));
}

/** Lines of diffusers' names and those in the file, as the golden has them. */
export function linesOf(layout: PartLayout, stored: readonly StoredTensor[], prefix: string): string[] {
  const headers = new Map(
    stored.map((tensor): [string, FileHeader] => [tensor.name.slice(prefix.length), tensor]),
  );
  const rename = layout.names(headers);
  return [...headers].flatMap(([name, { shape }]) => {
    const names = rename(name, shape);
    if (typeof names === 'string') return [`${names}\t${name}`];
    return names.map((part) =>
      part.rows ? `${part.name}\t${name}#${part.rows.first / part.rows.count}` : `${part.name}\t${name}`,
    );
  });
}

/** Expects the names that a layout gives to be those of the reference's converter; returns the configuration that it reads. */
export function expectGolden(
  golden: string,
  layout: PartLayout,
  stored: readonly StoredTensor[],
  prefix: string,
): Json {
  const lines = linesOf(layout, stored, prefix);
  const text = lines.toSorted().join('\n');
  const sha256 = createHash('sha256').update(text).digest('hex');
  expect({ tensors: lines.length, sha256 }).toEqual(GOLDEN[golden]);
  const found = findPart(new Map(stored.map((tensor) => [tensor.name, tensor as unknown as FileTensor])), [
    layout,
  ]);
  expect(found?.prefix).toBe(prefix);
  return found!.config;
}
