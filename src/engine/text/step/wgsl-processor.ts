// Logit processors that requests write in WGSL. The source is checked before it is compiled: it must be one function and constants,
// read nothing but its arguments and use no names of the kernel around it. Each loop consumes fuel (process.wgsl). Nothing else in
// WGSL repeats, since it has no recursion, so the fuel and the length of the source bound the time of a call.

import { badRequest, type EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import { link } from '../../../gpu/linker.ts';
import { PROCESS_SHADER, processorFile } from '../../../kernels/process.ts';

const LONGEST = 4096;
const SIGNATURE = 'fn process(token: u32, logit: f32, position: u32, count: u32) -> f32';

export class WgslProcessors {
  readonly #device: Device;
  readonly #most: number;
  /** Ids of registered sources, the least recently used first. */
  readonly #ids = new Map<string, number>();
  /** Sources whose check is still running. */
  readonly #checking = new Map<string, Promise<void>>();
  readonly #kernel: KernelNames;
  #next = 1;

  /** `most`: maximum number of registered processors. */
  constructor(device: Device, most: number) {
    this.#device = device;
    this.#most = most;
    this.#kernel = kernelNames(device);
  }

  /** Name and id of the processor on the device; its source is registered at the first call. */
  of(source: string): { name: string; id: number } {
    const ids = this.#ids;
    const id = ids.get(source) ?? this.#next++;
    const name = nameOf(id);
    // Throws before the id is stored, so that a refused source is checked again if it is sent again.
    if (!ids.has(source)) this.#device.addShader(processorFile(name), fuelled(source, this.#kernel));
    ids.delete(source);
    ids.set(source, id);
    if (ids.size > this.#most) this.#drop(ids.keys().next().value!);
    return { name, id };
  }

  /** Whether the processor with this id is still registered. */
  has(id: number): boolean {
    return [...this.#ids.values()].includes(id);
  }

  /** Checks a source. Throws bad_request, with the compiler's message, if it cannot be run. */
  async check(source: string): Promise<void> {
    if (!this.#checking.has(source)) {
      if (this.#ids.has(source)) return;
      const checked = this.#diagnose(source).finally(() => this.#checking.delete(source));
      this.#checking.set(source, checked);
    }
    await this.#checking.get(source);
  }

  async #diagnose(source: string): Promise<void> {
    const { name } = this.of(source);
    const [message] = await this.#device.diagnose(PROCESS_SHADER, { PROCESSOR: name });
    if (message === undefined) return;
    this.#drop(source);
    throw refusal(message.replace(` {PROCESSOR: ${name}}`, '').replace(`${processorFile(name)}:`, 'line '));
  }

  #drop(source: string): void {
    const id = this.#ids.get(source);
    if (id === undefined) return;
    this.#ids.delete(source);
    this.#device.dropShader(processorFile(nameOf(id)), nameOf(id));
  }
}

function nameOf(id: number): string {
  return `request-${id}`;
}

function refusal(problem: string): EngineError {
  return badRequest(
    `the wgsl processor cannot be run (${problem}): write it as ${SIGNATURE} { … }`,
    'processors',
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
