import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../src/options/nearest-name.ts';
import { meantBy, readArguments } from '../../../src/cli/options/arguments.ts';
import { EXIT, exitCodeOf, UsageError } from '../../../src/cli/process/exit.ts';
import type { OptionTable } from '../../../src/cli/options/option.ts';
import { BATCH_OPTIONS, ENGINE_OPTIONS, toModelOptions } from '../../../src/cli/options/engine-options.ts';
import { SERVER_OPTIONS } from '../../../src/cli/serve/server-options.ts';
import { EngineError, type ErrorCode, MODEL_KINDS } from '../../../src/index.ts';

const TABLE = {
  port: { kind: 'integer', default: 30000, min: 0, max: 65535, group: 'A', help: '', alias: 'p' },
  temperature: { kind: 'number', min: 0, max: 2, group: 'A', help: '' },
  seed: { kind: 'integer', group: 'A', help: '' },
  strict: { kind: 'boolean', group: 'A', help: '' },
  'no-sleep': { kind: 'boolean', group: 'A', help: '' },
  'memory-budget': { kind: 'bytes', group: 'A', help: '' },
  level: { kind: 'choice', choices: ['low', 'high'], default: 'low', group: 'A', help: '' },
  names: { kind: 'list', group: 'A', help: '' },
  key: { kind: 'string', group: 'A', help: '', elsewhere: ['prefix', 'k'] },
} as const satisfies OptionTable;

const MODEL = { name: 'model', help: 'its id', required: true };

const read = (line: string, positionals = [{ ...MODEL, required: false }]) =>
  readArguments(line === '' ? [] : line.split(' '), TABLE, positionals);

describe('options of the command line', () => {
  it('have their defaults, and nothing else, where nothing is given', () => {
    expect(read('').options).toEqual({ port: 30000, level: 'low' });
  });

  it.each<[string, object]>([
    ['--port 80', { port: 80 }],
    ['--port=80', { port: 80 }],
    ['-p 80', { port: 80 }],
    ['--port 1 --port 2', { port: 2 }],
    ['--seed -5', { seed: -5 }],
    ['--temperature .5', { temperature: 0.5 }],
    ['--temperature 1e-1', { temperature: 0.1 }],
    ['--strict', { strict: true }],
    ['--no-strict', { strict: false }],
    ['--strict=false', { strict: false }],
    ['--no-sleep', { 'no-sleep': true }],
    ['--level high', { level: 'high' }],
    ['--names a,b --names c', { names: ['a', 'b', 'c'] }],
    ['--key -x', { key: '-x' }],
    ['--key=--x', { key: '--x' }],
    ['--memory-budget 4096', { 'memory-budget': 4096 }],
    ['--memory-budget 6GB', { 'memory-budget': 6e9 }],
    ['--memory-budget 1.5g', { 'memory-budget': 1.5e9 }],
    ['--memory-budget 512MiB', { 'memory-budget': 512 * 2 ** 20 }],
  ])('%s', (line, expected) => {
    expect(read(line).options).toMatchObject(expected);
  });

  it.each<[string, string]>([
    ['--prot 80', 'there is no option --prot; did you mean --port?'],
    ['--temp 0', 'there is no option --temp; did you mean --temperature?'],
    ['--wibble', 'there is no option --wibble'],
    ['--prefix x', 'there is no option --prefix; did you mean --key?'],
    ['-k x', 'there is no option -k; did you mean --key?'],
    ['-x', 'there is no option -x'],
    ['--no-port', 'there is no option --no-port'],
    ['--__proto__ x', 'there is no option --__proto__'],
    ['--port', '--port needs a value: --port <n>'],
    ['--port=', '--port needs a value'],
    ['--port --strict', '--port needs a value'],
    ['--port 8o', '--port is a whole number from 0 to 65535, got "8o"'],
    ['--port 1.5', 'a whole number'],
    ['--port 65536', 'from 0 to 65535'],
    ['--port -1', 'from 0 to 65535'],
    ['--port 0x50', 'a whole number'],
    ['--temperature 3', 'a number from 0 to 2'],
    ['--temperature NaN', 'a number'],
    ['--level middle', '--level is one of low, high, got "middle"'],
    ['--strict=maybe', 'takes no value'],
    ['--memory-budget 6XB', 'a size such as 6GB'],
    ['--memory-budget 0', 'a size such as 6GB'],
    ['one --strict maybe', '--strict is on or off: it takes one of true, false, and not "maybe"'],
    ['one two', '"two" is one argument too many; a value of several words needs quotes'],
  ])('%s is a usage error: %s', (line, message) => {
    expect(() => read(line)).toThrow(UsageError);
    expect(() => read(line)).toThrow(message);
    expect(() => read(line)).toThrow(/^[^A-Z].*[^.]$/);
  });

  it('need their positionals', () => {
    expect(() => read('', [MODEL])).toThrow('the model is missing: give its id');
    expect(read('org/name --port 1', [MODEL]).positionals).toEqual(['org/name']);
    expect(read('-- --port', [MODEL]).positionals).toEqual(['--port']);
  });
});

it('nearestName() finds the name that was meant', () => {
  const names = Object.keys({ ...SERVER_OPTIONS, ...ENGINE_OPTIONS, ...BATCH_OPTIONS });
  expect(nearestName('contextlength', names)).toBe('context-length');
  expect(nearestName('max-running-request', names)).toBe('max-running-requests');
  expect(nearestName('servd-model-name', names)).toBe('served-model-name');
  expect(meantBy('lora', BATCH_OPTIONS)).toBe('lora-paths');
  expect(nearestName('temp', ['temperature', 'top-p'])).toBe('temperature');
  expect(nearestName('xyz', names)).toBeNull();
  expect(nearestName('p', ['port'])).toBeNull();
  expect(nearestName('requests-running-max', names)).toBe('max-running-requests');
  expect(nearestName('prompt', ['mmproj', 'port'])).toBeNull();
});

it('readArguments() gives the engine the values under its own names', () => {
  const { options } = readArguments(
    [
      '--context-length',
      '512',
      '--memory-budget',
      '1GB',
      '--safe',
      '--prefill-chunk',
      '64',
      '--sleep-idle-seconds',
      '1.5',
    ],
    { ...ENGINE_OPTIONS, ...BATCH_OPTIONS },
    [],
  );
  expect(toModelOptions(MODEL_KINDS.text, 'm', options)).toEqual({
    model: 'm',
    quantization: 'none',
    samplingDefaults: 'model',
    speculativeAlgorithm: 'none',
    logprobsMode: 'raw',
    jsonSchemaMode: 'declared',
    activationDtype: 'float',
    kvCacheDtype: 'auto',
    contextLength: 512,
    memoryBudget: 1e9,
    safe: true,
    prefillChunk: 64,
    sleepAfter: 1500,
    maxRunningRequests: 16,
    maxQueuedRequests: 128,
    maxLoras: 8,
    maxLoraRank: 64,
  });
});

describe('exit codes', () => {
  it.each<[ErrorCode, number]>([
    ['bad_request', EXIT.usage],
    ['model_not_found', EXIT.refused],
    ['unsupported', EXIT.refused],
    ['bad_checkpoint', EXIT.refused],
    ['out_of_memory', EXIT.outOfMemory],
    ['cancelled', EXIT.interrupted],
    ['network', EXIT.refused],
    ['no_adapter', EXIT.failed],
    ['internal', EXIT.failed],
  ])('%s ends with %d', (code, exit) => {
    expect(exitCodeOf(new EngineError(code, 'x'))).toBe(exit);
  });
  it('tell usage from failure', () => {
    expect(exitCodeOf(new UsageError('x'))).toBe(2);
    expect(exitCodeOf(new TypeError('x'))).toBe(1);
  });
});
