// Links real WGSL files into one module. WGSL allows any order at module scope, so appending is linking.
//
//   #import "lib/reduce.wgsl"        appends a file once
//   #import "weights/$W.wgsl"        picks the variant that the parameter W names
//   const ROWS = 16u;  alias T = f32;   right sides are replaced by parameters of the same name; the default's kind stays
//
//   const REQUIRED_SUBGROUP = 16u;   the entry point requires subgroups of this size; 0: of any
//   const FILLS_REGISTERS = true;    on a device that pins subgroups, it requires the size that the profile wants; the x extent of the workgroup is a
//                                    multiple of 32 there
//   const ROLLED = false;            true on devices whose drivers should keep the kernel's short loops as loops
//
// `enable`, `requires` and `diagnostic` lines of all files move to the top; a file that uses a language feature beyond the first WGSL, which
// every WebGPU compiles, names it by `requires`. What a kernel binds and takes is read off
// the text, so that launchers speak names, never numbers.

export type Param = number | boolean | string;
export type Params = Readonly<Record<string, Param>>;

/** Returns the text of a file by its path below shaders/. */
export type ShaderSource = (path: string) => string;

export interface Binding {
  name: string;
  index: number;
  type: 'uniform' | 'read-only-storage' | 'storage';
}

export interface ArgsField {
  name: string;
  kind: 'u32' | 'i32' | 'f32';
}

export interface LinkedShader {
  name: string;
  code: string;
  bindings: Binding[];
  /** Members of `struct Args`, in order; empty if the kernel has none. */
  args: ArgsField[];
  /** WGSL language features that the code requires. */
  requires: string[];
  /** Converts a 1-based line of `code` to `file.wgsl:line`. */
  locate(line: number): string;
}

interface Line {
  text: string;
  file: string;
  line: number;
}

const IMPORT = /^#import\s+"([^"]+)"\s*$/;
const DIRECTIVE = /^(enable|requires|diagnostic)\b/;
const REQUIRES = /^requires\s+([^;]+);/gm;
const DECLARATION = /^(const|alias)\s+(\w+)(\s*:\s*\w+)?\s*=\s*([^;]+);(.*)$/;
const FILLS_REGISTERS = /^const\s+FILLS_REGISTERS\s*=\s*true;/;
const REQUIRED_SUBGROUP = /^const\s+REQUIRED_SUBGROUP\s*=\s*(\d+)u;/;
const ROLLED = /^const\s+ROLLED\s*=\s*false;/;
const ENTRY = /^@compute\b/;
const BINDING =
  /@group\(0\)\s*@binding\((\d+)\)\s*var<\s*(uniform|storage)\s*(?:,\s*(read_write|read)\s*)?>\s*(\w+)/g;

/** Replaces the built-in conversions of halves. */
export const EXACT_HALVES = 'lib/exact-halves.wgsl';
const CONVERSION = /\b(un)?pack2x16float\(/;

/** Changes that a device needs in the text of every shader. */
export interface Wishes {
  /** Halves are converted by integers. */
  exactHalves?: boolean;
  /** Lanes of a subgroup of kernels that fill the registers; null: the driver chooses. */
  subgroupSize?: number | null;
  /** Loops stay loops in kernels that can do so. */
  rollsLoops?: boolean;
}

export function link(
  source: ShaderSource,
  name: string,
  params: Params = {},
  { exactHalves = false, subgroupSize = null, rollsLoops = false }: Wishes = {},
): LinkedShader {
  const directives = new Map<string, Line>();
  const body: Line[] = [];
  const seen = new Set<string>();
  const unused = new Set(Object.keys(params));

  const append = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const imports: string[] = [];
    source(file)
      .split('\n')
      .forEach((text, i) => {
        const imported = IMPORT.exec(text)?.[1];
        if (imported !== undefined) {
          imports.push(pick(imported, params, unused, `${file}:${i + 1}`));
        } else if (DIRECTIVE.test(text)) {
          directives.set(text.trim(), { text: text.trim(), file, line: i + 1 });
        } else {
          const own = rollsLoops ? text.replace(ROLLED, 'const ROLLED = true;') : text;
          body.push({ text: substitute(own, params, unused), file, line: i + 1 });
        }
      });
    imports.forEach(append);
  };
  append(name);
  if (exactHalves && body.some(({ text }) => CONVERSION.test(text))) append(EXACT_HALVES);

  if (unused.size > 0) {
    throw new Error(`${name}: no const, alias or import takes ${[...unused].join(', ')}${describe(params)}`);
  }
  pinSubgroups(directives, body, subgroupSize);
  const lines = [...directives.values(), ...body];
  const code = lines.map((line) => line.text).join('\n');
  return {
    name,
    code,
    bindings: readBindings(code, name),
    args: readArgs(code, name),
    requires: [...code.matchAll(REQUIRES)].flatMap(([, names = '']) =>
      names.split(',').map((one) => one.trim()),
    ),
    locate(line) {
      const at = lines[line - 1];
      return (at ? `${at.file}:${at.line}` : name) + describe(params);
    },
  };
}

/**
 * Requires subgroups of the size that a kernel names, or of `usual` lanes where it fills the registers: narrower subgroups have more registers for a
 * lane on some GPUs.
 */
function pinSubgroups(directives: Map<string, Line>, body: Line[], usual: number | null): void {
  const request = body.find(({ text }) => REQUIRED_SUBGROUP.test(text) || FILLS_REGISTERS.test(text));
  const entry = body.find(({ text }) => ENTRY.test(text));
  const required = REQUIRED_SUBGROUP.exec(request?.text ?? '')?.[1];
  const size = required === undefined ? usual : Number(required);
  if (!request || !entry || !size) return;
  entry.text = entry.text.replace(ENTRY, `@compute @subgroup_size(${size})`);
  const text = 'enable subgroup_size_control;';
  directives.set(text, { ...request, text });
}

function pick(path: string, params: Params, unused: Set<string>, at: string): string {
  return path.replace(/\$(\w+)/g, (_, key: string) => {
    const value = params[key];
    if (value === undefined) throw new Error(`${at}: the import needs parameter ${key}`);
    unused.delete(key);
    return String(value);
  });
}

function substitute(text: string, params: Params, unused: Set<string>): string {
  const match = DECLARATION.exec(text);
  const [, keyword, key = '', type = '', fallback = '', rest] = match ?? [];
  const value = params[key];
  if (!match || value === undefined) return text;
  unused.delete(key);
  return `${keyword} ${key}${type} = ${keyword === 'alias' ? String(value) : literal(value, fallback.trim(), key)};${rest}`;
}

/** Formats the value in the notation of the default that it replaces: `16u`, `1.0`, `true`. */
function literal(value: Param, fallback: string, key: string): string {
  if (/^(true|false)$/.test(fallback) && typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (/^\d+u$/.test(fallback) && Number.isInteger(value) && value >= 0) return `${value}u`;
    if (/^-?\d+i?$/.test(fallback) && Number.isInteger(value))
      return fallback.endsWith('i') ? `${value}i` : `${value}`;
    if (/^-?(?=.*[.e])[\d.]+(e[-+]?\d+)?$/.test(fallback))
      return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }
  throw new Error(`parameter ${key}: ${String(value)} is not of the kind of its default ${fallback}`);
}

function readBindings(code: string, name: string): Binding[] {
  const bindings = [...code.matchAll(BINDING)].map(([, index, space, access, variable]): Binding => ({
    name: variable ?? '',
    index: Number(index),
    type: space === 'uniform' ? 'uniform' : access === 'read_write' ? 'storage' : 'read-only-storage',
  }));
  const indices = new Set(bindings.map((binding) => binding.index));
  if (indices.size !== bindings.length) throw new Error(`${name}: two variables share a binding number`);
  return bindings;
}

function readArgs(code: string, name: string): ArgsField[] {
  const struct = /struct\s+Args\s*\{([^}]*)\}/.exec(code)?.[1];
  if (struct === undefined) return [];
  return struct
    .replace(/\/\/.*$/gm, '')
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '')
    .map((field) => {
      const [, key, kind] = /^(\w+)\s*:\s*(u32|i32|f32)$/.exec(field) ?? [];
      if (key === undefined) throw new Error(`${name}: Args may hold u32, i32 and f32 only, found ${field}`);
      return { name: key, kind: kind as ArgsField['kind'] };
    });
}

function describe(params: Params): string {
  const entries = Object.entries(params);
  return entries.length === 0
    ? ''
    : ` {${entries.map(([key, value]) => `${key}: ${String(value)}`).join(', ')}}`;
}
