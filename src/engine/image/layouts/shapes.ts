// Reads sizes and counts of a component from the names and shapes of its tensors.

import { badCheckpoint } from '../../../files/error.ts';
import type { FileHeaders } from '../../../files/pipeline/file-layout.ts';

/** Most numbered modules of one kind that are counted; published models have at most 100. */
const MOST = 4096;
const KERNEL_DIMENSIONS = 5;

export class Shapes {
  readonly #headers: FileHeaders;
  readonly #component: string;

  /** `component`: for messages. */
  constructor(headers: FileHeaders, component: string) {
    this.#headers = headers;
    this.#component = component;
  }

  /** Returns the size of a tensor along an axis; negative axes count from the last one. Throws bad_checkpoint if there is no such tensor. */
  readonly extent = (name: string, axis: number): number => {
    const size = this.find(name, axis);
    if (size !== undefined && size > 0) return size;
    throw badCheckpoint(
      `the ${this.#component} has no tensor ${name}: take the file from where the model was published`,
      name,
    );
  };

  /** Returns a size of a kernel [out, in, frames, height, width]. Throws bad_checkpoint too if the tensor has other dimensions. */
  readonly kernelExtent = (name: string, axis: number): number => {
    const size = this.extent(name, axis);
    const { shape } = this.#headers.get(name)!;
    if (shape.length === KERNEL_DIMENSIONS) return size;
    throw badCheckpoint(
      `tensor ${name} has the shape [${shape.join(', ')}], which does not tell that of a kernel over time: take a file that has its five dimensions, or states them in comfy.gguf.orig_shape`,
      name,
    );
  };

  find(name: string, axis: number): number | undefined {
    return this.#headers.get(name)?.shape.at(axis);
  }

  /** Number of tensors whose names have consecutive numbers from 0 on. */
  count(name: (i: number) => string): number {
    return countNames(this.#headers, name);
  }
}

/** Number of names that are there, with consecutive numbers from 0 on. */
export function countNames(headers: { has(name: string): boolean }, name: (i: number) => string): number {
  let found = 0;
  while (found < MOST && headers.has(name(found))) found++;
  return found;
}
