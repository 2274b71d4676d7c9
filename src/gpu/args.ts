// Arguments of a tape's dispatches, consecutive in one uniform buffer.

import type { LinkedShader } from './linker.ts';

export interface ArgsBlock {
  /** Byte offset of a dispatch's arguments. */
  write(shader: LinkedShader, args: Readonly<Record<string, number>>): number;
  upload(gpu: GPUDevice): GPUBuffer;
}

const STRIDE = 256;
const UNIFORM = 0x40 | 0x8; // UNIFORM | COPY_DST

export function createArgs(): ArgsBlock {
  let view = new DataView(new ArrayBuffer(STRIDE * 64));
  let bytes = 0;
  return {
    write(shader, args) {
      const offset = bytes;
      if (shader.args.length === 0) return offset;
      bytes += Math.max(STRIDE, argsSize(shader));
      if (bytes > view.byteLength) {
        const grown = new Uint8Array(2 * bytes);
        grown.set(new Uint8Array(view.buffer));
        view = new DataView(grown.buffer);
      }
      shader.args.forEach(({ name, kind }, i) => {
        const value = args[name]!;
        const at = offset + 4 * i;
        if (kind === 'f32') view.setFloat32(at, value, true);
        else if (kind === 'i32') view.setInt32(at, value, true);
        else view.setUint32(at, value, true);
      });
      return offset;
    },
    upload(gpu) {
      const buffer = gpu.createBuffer({ size: Math.max(bytes, 16), usage: UNIFORM });
      gpu.queue.writeBuffer(buffer, 0, view.buffer, 0, bytes);
      return buffer;
    },
  };
}

/** Bytes of a shader's `Args`. */
export function argsSize(shader: LinkedShader): number {
  return Math.ceil((4 * shader.args.length) / 16) * 16;
}

/** Throws if the given names differ from those that the shader declares. */
export function sameNames(shader: string, what: string, wanted: string[], given: string[]): void {
  const missing = wanted.filter((name) => !given.includes(name));
  const extra = given.filter((name) => !wanted.includes(name));
  if (missing.length + extra.length > 0) {
    throw new Error(`${shader}: ${what} missing [${missing.join(', ')}], unknown [${extra.join(', ')}]`);
  }
}
