// Libraries opened into this process, and environment variables that their C code reads, in Node, Bun and Deno.
//
// Node calls no C functions, but its process.dlopen keeps a library that is not an addon mapped if a flag says so, and what it writes to process.env
// reaches the C library. Bun and Deno close such a library again, and what Bun writes to process.env stays in JavaScript. Both can call C
// functions: there the C library's own dlopen and setenv are called.

import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { EngineError } from '../files/error.ts';

export interface NativeLibraries {
  /** Opens a library by path or bare name and never closes it. Returns null, or the reason why it cannot be opened. */
  open(file: string): string | null;
  /** Sets a variable for JavaScript and for C code; null removes it. */
  setVariable(name: string, value: string | null): void;
}

/** Functions of the C library. Strings are bytes that end in zero. */
interface LibC {
  dlopen(file: Uint8Array, flags: number): unknown;
  dlerror(): string | null;
  setenv(name: Uint8Array, value: Uint8Array, overwrite: number): number;
  unsetenv(name: Uint8Array): number;
}

// glibc's RTLD_NODELETE: the library stays mapped even if it is closed.
const KEEP_MAPPED = 0x1000;
const FLAGS = constants.dlopen.RTLD_LAZY | KEEP_MAPPED;

/** The runtime whose native code this is, since Bun and Deno also name a version of Node. */
function runtimeName(): 'Bun' | 'Deno' | 'Node' {
  if (process.versions['bun'] !== undefined) return 'Bun';
  return process.versions['deno'] === undefined ? 'Node' : 'Deno';
}

let found: NativeLibraries | undefined;

/** For Linux, with glibc. Throws if the runtime may not call its functions: Deno without --allow-ffi. */
export function nativeLibraries(): NativeLibraries {
  found ??= findLibraries();
  return found;
}

function findLibraries(): NativeLibraries {
  const runtime = runtimeName();
  if (runtime === 'Node') return inNode;
  try {
    return throughLibC(runtime === 'Bun' ? libCInBun() : libCInDeno());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError(
      'no_adapter',
      `${runtime} cannot call the C library, which finding a Vulkan driver needs: ${reason}`,
      { cause },
    );
  }
}

const inNode: NativeLibraries = {
  open(file) {
    try {
      process.dlopen({ exports: {} }, file, FLAGS);
    } catch (error) {
      // Node reports that a library is not an addon only after loading it.
      const reason = error instanceof Error ? error.message : String(error);
      if (!reason.includes('self-register')) return reason;
    }
    return null;
  },
  setVariable(name, value) {
    setInProcess(name, value);
  },
};

function setInProcess(name: string, value: string | null): void {
  if (value === null) delete process.env[name];
  else process.env[name] = value;
}

function throughLibC(libC: LibC): NativeLibraries {
  return {
    open(file) {
      if (libC.dlopen(bytesOf(file), FLAGS)) return null;
      return libC.dlerror() ?? `dlopen cannot open ${file}`;
    },
    setVariable(name, value) {
      setInProcess(name, value);
      const failed =
        value === null ? libC.unsetenv(bytesOf(name)) : libC.setenv(bytesOf(name), bytesOf(value), 1);
      if (failed !== 0) throw new Error(`the environment variable ${name} cannot be set`);
    },
  };
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

function libCInBun(): LibC {
  const { dlopen } = createRequire(import.meta.url)('bun:ffi') as {
    dlopen(file: string, functions: object): { symbols: LibC };
  };
  const { symbols } = dlopen('libc.so.6', {
    dlopen: { args: ['ptr', 'i32'], returns: 'ptr' },
    dlerror: { args: [], returns: 'cstring' },
    setenv: { args: ['ptr', 'ptr', 'i32'], returns: 'i32' },
    unsetenv: { args: ['ptr'], returns: 'i32' },
  });
  return {
    dlopen: symbols.dlopen,
    dlerror: () => String(symbols.dlerror()), // an object that holds a string
    setenv: symbols.setenv,
    unsetenv: symbols.unsetenv,
  };
}

interface DenoNamespace {
  dlopen(file: string, functions: object): { symbols: Omit<LibC, 'dlerror'> & { dlerror(): object | null } };
  UnsafePointerView: { getCString(pointer: object): string };
}

/** Without its permission, Deno's error names the flag. */
function libCInDeno(): LibC {
  const deno = (globalThis as unknown as { Deno: DenoNamespace }).Deno;
  const { symbols } = deno.dlopen('libc.so.6', {
    dlopen: { parameters: ['buffer', 'i32'], result: 'pointer' },
    dlerror: { parameters: [], result: 'pointer' },
    setenv: { parameters: ['buffer', 'buffer', 'i32'], result: 'i32' },
    unsetenv: { parameters: ['buffer'], result: 'i32' },
  });
  return {
    dlopen: symbols.dlopen,
    dlerror() {
      const text = symbols.dlerror();
      return text && deno.UnsafePointerView.getCString(text);
    },
    setenv: symbols.setenv,
    unsetenv: symbols.unsetenv,
  };
}
