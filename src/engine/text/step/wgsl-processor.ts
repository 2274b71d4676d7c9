// Logit processors that requests write in WGSL. The source is checked before it is compiled: it must be one function and constants,
// read nothing but its arguments and use no names of the kernel around it. Each loop consumes fuel (process.wgsl). Nothing else in
// WGSL repeats, since it has no recursion, so the fuel and the length of the source bound the time of a call.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import { link } from '../../../gpu/linker.ts';
import { PROCESS_SHADER, processorFile } from '../../../kernels/process.ts';

export interface WgslProcessors {
  /** Checks a source. Throws bad_request, with the compiler's message, if it cannot be run. */
  check(source: string): Promise<void>;
  /** Name and id of the processor on the device; its source is registered at the first call. */
  of(source: string): { name: string; id: number };
  /** Whether the processor with this id is still registered. */
  has(id: number): boolean;
}

const LONGEST = 4096;
const SIGNATURE = 'fn process(token: u32, logit: f32, position: u32, count: u32) -> f32';

/** `most`: maximum number of registered processors. */
export function createWgslProcessors(device: Device, most: number): WgslProcessors {
  const ids = new Map<string, number>();
  /** Sources whose check is still running. */
  const checking = new Map<string, Promise<void>>();
  let next = 1;
  const kernel = kernelNames(device);

  const nameOf = (id: number): string => `request-${id}`;
  const drop = (source: string): void => {
    const id = ids.get(source);
    if (id === undefined) return;
    ids.delete(source);
    device.dropShader(processorFile(nameOf(id)), nameOf(id));
  };
  const of = (source: string): { name: string; id: number } => {
    const id = ids.get(source) ?? next++;
    // Throws before the id is stored, so that a refused source is checked again if it is sent again.
    if (!ids.has(source)) device.addShader(processorFile(nameOf(id)), fuelled(source, kernel));
    // The least recently used processor is dropped.
    ids.delete(source);
    ids.set(source, id);
    if (ids.size > most) drop(ids.keys().next().value!);
    return { name: nameOf(id), id };
  };
  const diagnose = async (source: string): Promise<void> => {
    const { name } = of(source);
    const [message] = await device.diagnose(PROCESS_SHADER, { PROCESSOR: name });
    if (message === undefined) return;
    drop(source);
    throw refusal(message.replace(` {PROCESSOR: ${name}}`, '').replace(`${processorFile(name)}:`, 'line '));
  };
  return {
    of,
    has: (id) => [...ids.values()].includes(id),
    async check(source) {
      if (!checking.has(source)) {
        if (ids.has(source)) return;
        checking.set(
          source,
          diagnose(source).finally(() => checking.delete(source)),
        );
      }
      await checking.get(source);
    },
  };
}

function refusal(problem: string): EngineError {
  return new EngineError(
    'bad_request',
    `the wgsl processor cannot be run (${problem}): write it as ${SIGNATURE} { … }`,
    { param: 'processors' },
  );
}

/** Names in the kernel that a processor is linked into. */
export interface KernelNames {
  /** Names that the kernel declares at module scope. */
  declared: ReadonlySet<string>;
  /** Predeclared WGSL names that the kernel uses; a source that declares one of them would change the kernel. */
  builtin: ReadonlySet<string>;
}

function kernelNames(device: Device): KernelNames {
  const { code } = link((path) => device.shaderText(path), PROCESS_SHADER, { PROCESSOR: 'none' });
  const names = [...code.matchAll(/^(?:@.*)?(?:fn|struct|const|alias|var(?:<[^>]*>)?)\s+(\w+)/gm)];
  const declared = new Set(names.map(([, name]) => name!).filter((name) => name !== 'process'));
  const builtin = new Set(code.match(/(?<![\w.])[A-Za-z_]\w*/g));
  const own = /\b(?:fn|let|var(?:<[^>]*>)?|const|alias|struct)\s+(\w+)|(\w+)\s*:/g;
  for (const [, name, parameter] of code.matchAll(own)) builtin.delete((name ?? parameter)!);
  return { declared, builtin };
}

const FOREIGN = /^(enable|requires|diagnostic|override|\w*Barrier|atomic\w*|workgroup\w*|subgroup\w*)$/;
const SPEND = ' if (svc_fuel == 0u) { break; } svc_fuel -= 1u; ';

/** The source with equal line numbers, in which every loop consumes fuel. Throws bad_request for names and constructs that are not allowed. */
export function fuelled(source: string, { declared, builtin }: KernelNames): string {
  if (source.length > LONGEST) throw refusal(`it has ${source.length} characters, the most is ${LONGEST}`);
  const text = withoutComments(source);
  const strange = /[@#]|[^\x20-\x7e\s]/.exec(text)?.[0];
  if (strange !== undefined) throw refusal(`it holds ${JSON.stringify(strange)}`);
  const words = [...text.matchAll(/[A-Za-z_]\w*/g)];
  const bad = words.find(([word]) => declared.has(word) || word.startsWith('svc_') || FOREIGN.test(word));
  if (bad) throw refusal(`the name ${bad[0]} is not for it to use`);
  if (/\bvar\s*</.test(text)) throw refusal('its variables may only be its own: write var without <…>');
  if (words.filter(([word]) => word === 'fn').length !== 1 || !/\bfn\s+process\b/.test(text))
    throw refusal('it must be one function, called process');
  for (const [, kind, name = ''] of outerText(text).matchAll(/\b(alias|struct|const)\s+(\w+)/g)) {
    if (kind !== 'const')
      throw refusal(`it has ${kind} ${name}: beside its function there may be constants only`);
    if (builtin.has(name)) throw refusal(`the name ${name} is not for it to use`);
  }
  let out = '';
  let done = 0;
  for (const { 0: word, index } of words) {
    if (word !== 'for' && word !== 'while' && word !== 'loop') continue;
    const body = text.indexOf('{', index);
    if (body < 0) throw refusal(`its ${word} has no body`);
    out += text.slice(done, body + 1) + SPEND;
    done = body + 1;
  }
  return out + text.slice(done);
}

/** Text outside of all braces. */
function outerText(text: string): string {
  let depth = 0;
  let out = '';
  for (const character of text) {
    if (character === '{') depth++;
    if (depth === 0) out += character;
    if (character === '}') depth--;
  }
  return out;
}

/** Comments as spaces, so that every line stays where it is. WGSL nests them. */
function withoutComments(source: string): string {
  let out = '';
  let depth = 0;
  for (let at = 0; at < source.length; at++) {
    const two = source.slice(at, at + 2);
    if (depth === 0 && two === '//') {
      while (at < source.length && source[at] !== '\n') at++;
      out += '\n';
    } else if (two === '/*' || (two === '*/' && depth > 0)) {
      depth += two === '/*' ? 1 : -1;
      out += '  ';
      at++;
    } else out += depth === 0 || source[at] === '\n' ? source[at] : ' ';
  }
  if (depth > 0) throw refusal('a comment of it does not end');
  return out;
}
