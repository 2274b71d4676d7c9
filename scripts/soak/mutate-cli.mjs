// A mutant by the command line, as people meet it: what it prints, its exit code, and that it ends.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../setup/packages.mjs';

/** Exit codes by the code of the error; all other errors exit with 1. */
const EXIT_CODES = {
  bad_request: 2,
  bad_checkpoint: 3,
  unsupported: 3,
  model_not_found: 3,
  out_of_memory: 4,
};

/** Flags of an option of the library; paths that begin with @/ are in the mutant's folder. */
function flags(name, value, folder) {
  if (name === 'componentPaths')
    return Object.entries(value).flatMap(([part, path]) => flags(`componentPaths.${part}`, path, folder));
  const flag = name === 'model' ? 'modelPath' : name;
  const [word, part] = flag.split('.');
  const kebab = word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const paths = [value].flat().map((path) => (path.startsWith('@/') ? join(folder, path.slice(2)) : path));
  return [`--${kebab}${part === undefined ? '' : `.${part}`}`, paths.join(',')];
}

const COMMANDS = {
  text: ({ path, quantization }) => [
    ...['chat', path, '--max-tokens', '2', '--temperature', '0', '--quantization', quantization],
    ...['--context-length', '128', '--memory-budget', '512MiB'],
  ],
  image: ({ path, size, output, options, request }) => [
    ...['generate', '--model-path', path, '--prompt', 'a', '--num-inference-steps', '1', '--quiet'],
    ...(request?.frames ? ['--num-frames', String(request.frames)] : []),
    ...(request?.enableUpscaling ? ['--enable-upscaling'] : []),
    ...Object.entries(options ?? {}).flatMap(([name, value]) => flags(name, value, path)),
    ...['--width', String(size), '--height', String(size), '--output-path', output],
  ],
};

/** Whether there is a command, other than the server, that opens this kind of model. */
export const hasCommand = ({ kind, adapter, request }) =>
  Object.hasOwn(COMMANDS, kind) &&
  !adapter &&
  !request?.images &&
  !request?.ipAdapterImage &&
  !request?.controlImages;

/** `{ code, stderr }`, or `{ failed }` where it is not over in time. */
export function runCommand(job, env, milliseconds) {
  const args = [join(root, 'dist/cli/main.js'), ...COMMANDS[job.kind](job)];
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.on('error', () => {});
  child.stdin.end('hello');
  let stderr = '';
  child.stderr.on('data', (bytes) => (stderr = (stderr + bytes).slice(-8000)));
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      resolve({ failed: 'hang' });
    }, milliseconds);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stderr });
    });
  });
}

/** Returns the defect in how a command ended, given the outcome of the same mutant in the library; null if there is none. */
export function judgeCommand({ failed, code, signal, stderr }, { error, output }, milliseconds) {
  if (failed) return `the command is still at work after ${milliseconds / 1000} s`;
  if (signal) return `the command ended with ${signal}: ${stderr.slice(-500)}`;
  // A path that an option names is looked up before the model is opened, and its absence is an error of the command line.
  const isMissing = error && stderr.includes('there is no ');
  const expected = isMissing && code === 2 ? 2 : error ? (EXIT_CODES[error.code] ?? 1) : 0;
  // A model may open although its damaged template refuses a conversation; the chat reports that error.
  if (code !== expected && !output?.chat?.error)
    return `the command's exit code is ${code}, ${expected} is right: ${stderr.slice(-500)}`;
  // Drivers print the place in their own source.
  if (/\n\s+at (?!.*third_party).*:\d+/.test(stderr))
    return `the command prints a stack: ${stderr.slice(-500)}`;
  return null;
}
