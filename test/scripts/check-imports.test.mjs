// Each rule of the import check, once satisfied and once violated.

import { describe, expect, it } from 'vitest';
import { existsSync } from 'node:fs';
import { checkImports } from '../../scripts/check-imports.mjs';
import { ROOMS } from '../../scripts/rooms.mjs';
import { FOLDERS, MOST_LOOSE, STOREYS } from '../../scripts/storeys.mjs';

const check = (file, text) => checkImports({ [file]: text });

describe('the direction of imports', () => {
  it('lets a room import the rooms below it', () => {
    expect(
      check('engine/text/a.ts', "import { x } from '../../gpu/tape.ts';\nimport { y } from './b.ts';"),
    ).toEqual([]);
    expect(check('cli/main.ts', "import { x } from '../index.ts';\nimport fs from 'node:fs';")).toEqual([]);
  });

  it('names file and line of an import that goes up or past the public face', () => {
    expect(check('gpu/tape.ts', "// head\nimport { x } from '../engine/a.ts';")).toEqual([
      `src/gpu/tape.ts:2 imports engine/a.ts: gpu (${ROOMS.gpu.does}) may import no other room`,
    ]);
    expect(check('server/a.ts', "import {\n  x,\n} from '../engine/a.ts';")).toHaveLength(1);
    expect(check('server/a.ts', "export * from '../engine/a.ts';")).toHaveLength(1);
    expect(check('server/a.ts', "const a = await import('../engine/a.ts');")).toHaveLength(1);
    expect(check('files/a.ts', "import '../gpu/a.ts';")).toHaveLength(1);
  });

  it('opens files/error.ts to every room but a closed one', () => {
    expect(check('gpu/a.ts', "import { EngineError } from '../files/error.ts';")).toEqual([]);
    expect(check('grammar/a.ts', "import { EngineError } from '../files/error.ts';")).toHaveLength(1);
    expect(check('grammar/a.ts', "import { LRUCache } from 'lru-cache';")).toHaveLength(1);
  });

  it('holds models to types of gpu and files', () => {
    expect(check('models/a.ts', "import type { T } from '../gpu/tensor.ts';")).toEqual([]);
    expect(check('models/a.ts', "import { T } from '../gpu/tensor.ts';")).toHaveLength(1);
  });

  it('knows which files may use Node and which packages belong where', () => {
    expect(check('gpu/node.ts', "import fs from 'node:fs';\nimport { create } from 'webgpu';")).toEqual([]);
    expect(check('gpu/tape.ts', "import fs from 'node:fs';")).toHaveLength(1);
    expect(check('engine/a.ts', "import { H3 } from 'h3';")).toHaveLength(1);
    expect(check('files/a.ts', "import { T } from '@huggingface/tokenizers';")).toEqual([]);
  });

  it('wants every file in a room', () => {
    expect(check('utils/a.ts', '')).toHaveLength(1);
  });

  it('wants a sentence for every folder, and no sentence without one', () => {
    expect(check('server/attic/a.ts', '')).toEqual([
      'src/server/attic/a.ts:1 is in a folder without a sentence: add server/attic to FOLDERS',
    ]);
    expect(Object.keys(FOLDERS).filter((folder) => !existsSync(`src/${folder}`))).toEqual([]);
  });
});

describe('members of classes', () => {
  it('wants #private in place of TypeScript’s words and of underscores', () => {
    const breach = (text) => check('gpu/a.ts', `class A {\n${text}\n}`);
    expect(breach('  private spent = 0;')).toEqual([
      'src/gpu/a.ts:2 members that others must not use are `#private`',
    ]);
    expect(breach('  protected abstract state(): number;')).toHaveLength(1);
    expect(breach('  f() { return this._spent; }')).toHaveLength(1);
    expect(breach("  #spent = 'private means';\n  private constructor() {}")).toEqual([]);
  });
});

describe('circles of imports', () => {
  const twoFiles = (first, second) => checkImports({ 'gpu/a.ts': first, 'gpu/b.ts': second });

  it('of values are reported once', () => {
    expect(twoFiles("import { b } from './b.ts';", "import { a, type T } from './a.ts';")).toEqual([
      'src/gpu/a.ts:1 imports itself by way of gpu/b.ts',
    ]);
    expect(check('gpu/a.ts', "import { b } from './a.ts';")).toEqual([
      'src/gpu/a.ts:1 imports itself by way of nothing else',
    ]);
  });

  it('that share a file are all reported', () => {
    const sources = {
      'gpu/a.ts': "import { b } from './b.ts';",
      'gpu/b.ts': "import { a } from './a.ts';\nimport { c } from './c.ts';",
      'gpu/c.ts': "import { b } from './b.ts';",
    };
    expect(checkImports(sources)).toEqual([
      'src/gpu/a.ts:1 imports itself by way of gpu/b.ts',
      'src/gpu/b.ts:1 imports itself by way of gpu/c.ts',
    ]);
  });

  it('through one file of two lengths are both reported', () => {
    const sources = {
      'gpu/a.ts': "import { b } from './b.ts';",
      'gpu/b.ts': "import { a } from './a.ts';\nimport { c } from './c.ts';",
      'gpu/c.ts': "import { a } from './a.ts';",
    };
    expect(checkImports(sources)).toEqual([
      'src/gpu/a.ts:1 imports itself by way of gpu/b.ts',
      'src/gpu/a.ts:1 imports itself by way of gpu/b.ts, gpu/c.ts',
    ]);
  });

  it('of types are circles too', () => {
    expect(twoFiles("import type { B } from './b.ts';", "import type { A } from './a.ts';")).toEqual([
      'src/gpu/a.ts:1 imports itself by way of gpu/b.ts',
    ]);
    expect(twoFiles("import type { B } from './b.ts';", '')).toEqual([]);
  });
});

describe('storeys inside a room', () => {
  it('lets a file import from its own storey and those below it', () => {
    const text = "import { a } from './b.ts';\nimport { b } from '../automata/dfa.ts';";
    expect(check('grammar/masks/a.ts', text)).toEqual([]);
    expect(check('grammar/front-end.ts', "import { a } from './masks/a.ts';")).toEqual([]);
  });

  it('names an import that goes up a storey, types included', () => {
    expect(check('grammar/automata/a.ts', "// head\nimport type { T } from '../masks/b.ts';")).toEqual([
      'src/grammar/automata/a.ts:2 imports grammar/masks/b.ts: in grammar/, automata lies below masks',
    ]);
    expect(check('grammar/schema/a.ts', "export * from '../front-end.ts';")).toEqual([
      'src/grammar/schema/a.ts:1 imports grammar/front-end.ts: in grammar/, schema lies below .',
    ]);
  });

  it('wants every folder of a room with storeys in their list', () => {
    expect(check('files/error.ts', "import { a } from './attic/a.ts';")).toEqual([
      'src/files/error.ts:1: files/attic is missing in STOREYS',
    ]);
  });

  it('lets neighbours in a room without a list import each other in one direction only', () => {
    const down = { 'models/image/unet/a.ts': "import { b } from '../autoencoders/b.ts';" };
    expect(checkImports({ ...down, 'models/image/autoencoders/b.ts': '' })).toEqual([]);
    expect(
      checkImports({ ...down, 'models/image/autoencoders/c.ts': "import type { A } from '../unet/d.ts';" }),
    ).toEqual([
      'src/models/image/unet/a.ts:1 imports models/image/autoencoders/b.ts, and models/image/autoencoders imports models/image/unet, too',
      'src/models/image/autoencoders/c.ts:1 imports models/image/unet/d.ts, and models/image/unet imports models/image/autoencoders, too',
    ]);
  });

  it('names folders that are there, each once', () => {
    for (const [room, storeys] of Object.entries(STOREYS)) {
      expect(new Set(storeys).size).toBe(storeys.length);
      expect(storeys.filter((storey) => !existsSync(`src/${room}/${storey}`))).toEqual([]);
    }
  });
});

it('a folder holds so many loose files and no more; kernels/ is flat', () => {
  const files = (room, count) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${room}/file-${index}.ts`, '']));
  expect(checkImports(files('gpu', MOST_LOOSE))).toEqual([]);
  expect(checkImports(files('gpu', MOST_LOOSE + 1))).toEqual(['src/gpu/: 41 loose files, at most 40']);
  expect(checkImports(files('kernels', MOST_LOOSE + 1))).toEqual([]);
});

describe('words that belong to one room', () => {
  it('keeps GPUDevice in gpu/ and shader names in kernels/', () => {
    expect(check('gpu/a.ts', 'let d: GPUDevice;')).toEqual([]);
    expect(check('engine/a.ts', 'let a;\nlet d: GPUDevice;')).toEqual([
      'src/engine/a.ts:2 only gpu/ says GPUDevice',
    ]);
    expect(check('kernels/a.ts', "const file = 'rmsnorm.wgsl';")).toEqual([]);
    expect(check('models/a.ts', "const file = 'rmsnorm.wgsl';")).toHaveLength(1);
    expect(check('gpu/linker.ts', 'const file = `${name}.wgsl`;')).toEqual([]);
  });

  it('does not read comments', () => {
    expect(
      check('engine/a.ts', "// GPUDevice\n/* import '../server/a.ts'; */\nconst u = 'http://x'; // a.wgsl"),
    ).toEqual([]);
  });
});
