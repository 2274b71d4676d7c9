// Functions of requests' own, in WGSL: read before they are compiled, so that they see nothing but their arguments and cannot go on for
// ever. One function and constants; no names of the kernel around it; every loop spends fuel (process.wgsl), and there is nothing else
// in WGSL that repeats, since recursion is not allowed. So what a call may take is bounded by the fuel and the length of the text.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import { link } from '../../../gpu/linker.ts';
import { PROCESS_SHADER, processorFile } from '../../../kernels/process.ts';

export interface WgslProcessors {
  /** Throws bad_request, with the compiler's message, for what cannot be run. */
  check(source: string): Promise<void>;
  /** Name and number of a processor on the device, which has the kernel's text from then on. */
  of(source: string): { name: string; id: number };
  /** Whether the device still has the processor of that number. */
  has(id: number): boolean;
}

const LONGEST = 4096;
const SIGNATURE = 'fn process(token: u32, logit: f32, position: u32, count: u32) -> f32';

/** `most`: processors that are kept at once. */
export function createWgslProcessors(device: Device, most: number): WgslProcessors {
  const ids = new Map<string, number>();
  /** Processors that are still being compiled, by their source. */
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
    // Before it is known: one that is refused is read again when it comes again.
    if (!ids.has(source)) device.addShader(processorFile(nameOf(id)), fuelled(source, kernel));
    // The last ones used are kept.
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
  /** Names declared at the kernel's module scope. */
  declared: ReadonlySet<string>;
  /** Names of WGSL itself that the kernel uses: declaring one of them again would change the kernel. */
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

/** The source with a limit on the turns of its loops (fuel), line for line. Throws bad_request for constructs that it must not contain. */
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

/** The part of a text that is outside all braces. */
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
