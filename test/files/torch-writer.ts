// Writes tensors as torch.save does: a zip archive that is not compressed, with a pickle that names them.

import { crc32 } from 'node:zlib';
import type { Dtype } from '../../src/files/tensors/safetensors.ts';

const STORAGES: Partial<Record<Dtype, string>> = {
  F32: 'FloatStorage',
  F16: 'HalfStorage',
  BF16: 'BFloat16Storage',
};

export interface WrittenTensor {
  name: string;
  dtype: Dtype;
  shape: readonly number[];
  bytes: Uint8Array;
}

export function torchFile(tensors: readonly WrittenTensor[]): Buffer {
  const files: [string, Uint8Array][] = tensors.map(({ bytes }, i) => [`archive/data/${i}`, bytes]);
  return zip([
    ['archive/data.pkl', pickleOf(tensors)],
    ['archive/byteorder', Buffer.from('little')],
    ...files,
  ]);
}

function pickleOf(tensors: readonly WrittenTensor[]): Buffer {
  const int = (value: number): Buffer => {
    const bytes = Buffer.from('J....');
    bytes.writeInt32LE(value, 1);
    return bytes;
  };
  const text = (value: string): Buffer => {
    const head = Buffer.from('X....');
    head.writeUInt32LE(Buffer.byteLength(value), 1);
    return Buffer.concat([head, Buffer.from(value)]);
  };
  const tuple = (...values: Buffer[]): Buffer =>
    Buffer.concat([Buffer.from('('), ...values, Buffer.from('t')]);
  const name = (module: string, member: string): Buffer => Buffer.from(`c${module}\n${member}\n`);
  const pairs = tensors.flatMap(({ name: key, dtype, shape }, i) => {
    const count = shape.reduce((product, size) => product * size, 1);
    const strides = shape.map((_, at) => shape.slice(at + 1).reduce((product, size) => product * size, 1));
    const id = tuple(text('storage'), name('torch', STORAGES[dtype]!), text(`${i}`), text('cpu'), int(count));
    const storage = Buffer.concat([id, Buffer.from('Q')]);
    const sizes = [tuple(...shape.map(int)), tuple(...strides.map(int))];
    const args = tuple(storage, int(0), ...sizes, Buffer.from('\x89', 'latin1'), Buffer.from('}'));
    return [text(key), name('torch._utils', '_rebuild_tensor_v2'), args, Buffer.from('R')];
  });
  return Buffer.concat([Buffer.from('\x80\x02}(', 'latin1'), ...pairs, Buffer.from('u.')]);
}

function zip(files: readonly [name: string, bytes: Uint8Array][]): Buffer {
  const parts: Buffer[] = [];
  const table: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const fields = Buffer.alloc(24);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(bytes.length, 14);
    fields.writeUInt32LE(bytes.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const listed = Buffer.alloc(46);
    listed.write('PK\x01\x02', 'latin1');
    fields.copy(listed, 6);
    listed.writeUInt32LE(offset, 42);
    table.push(listed, Buffer.from(name));
    const own = [
      Buffer.from('PK\x03\x04', 'latin1'),
      fields,
      Buffer.alloc(2),
      Buffer.from(name),
      Buffer.from(bytes),
    ];
    parts.push(...own);
    offset += own.reduce((sum, { length }) => sum + length, 0);
  }
  const list = Buffer.concat(table);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, list, end]);
}
