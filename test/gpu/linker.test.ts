import { describe, expect, it } from 'vitest';
import { link } from '../../src/gpu/linker.ts';

/** Links `main.wgsl` of these files. */
function linked(files: Record<string, string>, params = {}) {
  return link(
    (path) => {
      const text = files[path];
      if (text === undefined) throw new Error(`no file ${path}`);
      return text;
    },
    'main.wgsl',
    params,
  );
}

describe('imports of a shader', () => {
  const files = {
    'main.wgsl': 'fn main() {}\n#import "lib/a.wgsl"\n#import "weights/$W.wgsl"\nfn after() {}',
    'lib/a.wgsl': '#import "lib/shared.wgsl"\nfn a() {}',
    'lib/shared.wgsl': 'fn shared() {}',
    'weights/int8.wgsl': '#import "lib/shared.wgsl"\nfn unpack() {}',
  };

  it('append each file once, the importing file first', () => {
    expect(linked(files, { W: 'int8' }).code).toBe(
      'fn main() {}\nfn after() {}\nfn a() {}\nfn shared() {}\nfn unpack() {}',
    );
  });

  it('name the line that lacks a parameter', () => {
    expect(() => linked(files)).toThrow('main.wgsl:3: the import needs parameter W');
  });

  it('fail where the variant has no file', () => {
    expect(() => linked(files, { W: 'int3' })).toThrow('no file weights/int3.wgsl');
  });
});

describe('parameters of a shader', () => {
  const constants = (text: string, params: object) => linked({ 'main.wgsl': text }, params).code;

  it('replace the right side and keep the kind of the default', () => {
    expect(constants('const ROWS = 16u; // rows', { ROWS: 4 })).toBe('const ROWS = 4u; // rows');
    expect(constants('const SHIFT = -3i;', { SHIFT: -5 })).toBe('const SHIFT = -5i;');
    expect(constants('const COUNT = 3;', { COUNT: 7 })).toBe('const COUNT = 7;');
    expect(constants('const EPS = 1e-5;', { EPS: 2 })).toBe('const EPS = 2.0;');
    expect(constants('const EPS: f32 = 0.5;', { EPS: 0.25 })).toBe('const EPS: f32 = 0.25;');
    expect(constants('const CAUSAL = true;', { CAUSAL: false })).toBe('const CAUSAL = false;');
    expect(constants('alias T = f32;', { T: 'u32' })).toBe('alias T = u32;');
  });

  it('refuse another kind', () => {
    const wrong = (text: string, params: object) => () => constants(text, params);
    expect(wrong('const ROWS = 16u;', { ROWS: 1.5 })).toThrow(
      'parameter ROWS: 1.5 is not of the kind of its default 16u',
    );
    expect(wrong('const ROWS = 16u;', { ROWS: -1 })).toThrow('not of the kind');
    expect(wrong('const ROWS = 16u;', { ROWS: true })).toThrow('not of the kind');
    expect(wrong('const CAUSAL = true;', { CAUSAL: 1 })).toThrow('not of the kind');
    expect(wrong('const COUNT = 3;', { COUNT: 0.5 })).toThrow('not of the kind');
  });

  it('reach constants of imported files, and only whole names at the start of a line', () => {
    const code = linked(
      {
        'main.wgsl': '#import "a.wgsl"\nconst ROWS_MORE = 1u;\nfn f() { let ROWS = 2u; }',
        'a.wgsl': 'const ROWS = 1u;',
      },
      { ROWS: 9 },
    ).code;
    expect(code).toBe('const ROWS_MORE = 1u;\nfn f() { let ROWS = 2u; }\nconst ROWS = 9u;');
  });

  it('that nothing takes are an error', () => {
    expect(() => constants('const ROWS = 16u;', { ROWS: 4, ROW: 1 })).toThrow(
      'main.wgsl: no const, alias or import takes ROW {ROWS: 4, ROW: 1}',
    );
  });
});

describe('the bindings and parameters of a kernel', () => {
  const text = `struct Args {
  rows: u32,  // of x, y
  shift: i32,
  eps: f32,
}
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<storage> z: array<f32>;`;

  it('are read from the text', () => {
    const { bindings, args } = linked({ 'main.wgsl': text });
    expect(bindings).toEqual([
      { name: 'x', index: 0, type: 'read-only-storage' },
      { name: 'args', index: 2, type: 'uniform' },
      { name: 'y', index: 3, type: 'storage' },
      { name: 'z', index: 5, type: 'read-only-storage' },
    ]);
    expect(args).toEqual([
      { name: 'rows', kind: 'u32' },
      { name: 'shift', kind: 'i32' },
      { name: 'eps', kind: 'f32' },
    ]);
  });

  it('must not meet in one binding, nor be other than a number', () => {
    const second = '@group(0) @binding(0) var<storage> other: array<f32>;';
    expect(() => linked({ 'main.wgsl': `${text}\n${second}` })).toThrow(
      'main.wgsl: two variables share a binding number',
    );
    expect(() => linked({ 'main.wgsl': 'struct Args {\n  scale: vec2f,\n}' })).toThrow(
      'main.wgsl: Args may hold u32, i32 and f32 only, found scale: vec2f',
    );
  });
});

describe('lines of a shader', () => {
  const shader = linked(
    {
      'main.wgsl': '// head\nenable f16;\nfn main() {}\n#import "lib/a.wgsl"',
      'lib/a.wgsl': 'enable subgroups;\n\nconst ROWS = 1u;',
    },
    { ROWS: 2 },
  );

  it('of enable and diagnostic come first, each once', () => {
    expect(shader.code).toBe('enable f16;\nenable subgroups;\n// head\nfn main() {}\n\nconst ROWS = 2u;');
    const twice = { 'main.wgsl': 'enable f16;\n#import "a.wgsl"', 'a.wgsl': 'enable f16;\nfn a() {}' };
    expect(linked(twice).code).toBe('enable f16;\nfn a() {}');
  });

  it('are found again in their files', () => {
    const at = [1, 2, 3, 4, 5, 6].map((line) => shader.locate(line));
    expect(at).toEqual(
      ['main.wgsl:2', 'lib/a.wgsl:1', 'main.wgsl:1', 'main.wgsl:3', 'lib/a.wgsl:2', 'lib/a.wgsl:3'].map(
        (place) => `${place} {ROWS: 2}`,
      ),
    );
    expect(shader.locate(0)).toBe('main.wgsl {ROWS: 2}');
  });
});

describe('pinned subgroups of a shader', () => {
  const files: Record<string, string> = {
    'full.wgsl': 'enable f16;\n#import "lib/a.wgsl"\n\n@compute @workgroup_size(64)\nfn main() {}',
    'lib/a.wgsl': 'const FILLS_REGISTERS = true;',
    'spare.wgsl': '@compute @workgroup_size(64)\nfn main() {}',
  };
  const code = (name: string, subgroupSize: number | null = null) =>
    link((path) => files[path]!, name, {}, { subgroupSize }).code;

  it('are required of kernels that fill the registers, on devices that pin them', () => {
    expect(code('full.wgsl', 8)).toBe(
      'enable f16;\nenable subgroup_size_control;\n\n@compute @subgroup_size(8) @workgroup_size(64)\nfn main() {}\n' +
        'const FILLS_REGISTERS = true;',
    );
    expect(code('full.wgsl', null)).not.toContain('subgroup_size');
    expect(code('full.wgsl')).not.toContain('subgroup_size');
    expect(code('spare.wgsl', 8)).toBe(files['spare.wgsl']);
  });

  it('are required of kernels that name a size, on every device', () => {
    const file = 'const REQUIRED_SUBGROUP = 0u;\n@compute @workgroup_size(64)\nfn main() {}';
    const of = (size: number, usual: number | null) =>
      link(() => file, 'named.wgsl', { REQUIRED_SUBGROUP: size }, { subgroupSize: usual }).code;
    for (const usual of [null, 8]) {
      expect(of(0, usual)).toBe(file);
      expect(of(32, usual)).toContain('@compute @subgroup_size(32) @workgroup_size(64)');
      expect(of(32, usual)).toContain('enable subgroup_size_control;');
    }
  });

  it('do not move the lines that messages name', () => {
    const { locate } = link((path) => files[path]!, 'full.wgsl', {}, { subgroupSize: 8 });
    expect([1, 2, 4, 6].map(locate)).toEqual(['full.wgsl:1', 'lib/a.wgsl:1', 'full.wgsl:4', 'lib/a.wgsl:1']);
  });
});
