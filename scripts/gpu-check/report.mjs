// The report of gpu-check: a JSON file that is written anew after each row, and the same rows as lines on the console.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
const NAME_WIDTH = 56;
/** Rows follow each other faster than a disk should be asked to write a whole report. */
const FLUSH_MS = 500;

/** @returns {string} a file name for an adapter */
export function reportName(summary) {
  const name = summary?.device || summary?.description || summary?.architecture || 'unknown adapter';
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Paths of the machine, which a report must not hold, each with what stands for it. The longest come first. */
const PLACES = [
  [root, '.'],
  [tmpdir(), '<tmp>'],
  [homedir(), '~'],
].sort(([a], [b]) => b.length - a.length);

/** @returns {string} text of an error or a program without paths of the machine */
export function withoutPaths(text) {
  const plain = text.replaceAll('file://', '');
  const known = PLACES.reduce((result, [path, sign]) => result.replaceAll(path, sign), plain);
  return known.replaceAll(/(?<![\w.~>])\/(?:[\w.@+-]+\/)+/g, '…/');
}

export class Report {
  stages = {};
  #file;
  #head;
  #flushed = 0;

  constructor({ out, small, minutes }) {
    this.#file = out;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    this.#head = { version, made: new Date().toISOString(), node: process.version, small, minutes };
    if (out !== null) this.#takeOver(out);
  }

  get file() {
    return this.#file;
  }

  /** Stages of an earlier report in the same file stay until they run again. */
  #takeOver(file) {
    if (!existsSync(file)) return;
    const { stages = {}, small } = JSON.parse(readFileSync(file, 'utf8'));
    if (small === this.#head.small) this.stages = { ...stages, ...this.stages };
  }

  begin(name) {
    const stage = { status: 'running', made: new Date().toISOString(), parts: {} };
    this.stages[name] = stage;
    console.log(`\n${name}`);
    return {
      get summary() {
        return stage.summary;
      },
      beginPart: (part, milliseconds) => {
        const limitS = Math.round(milliseconds / 1000);
        stage.parts[part] = { status: 'running', limitS };
        console.log(` ${part} (at most ${limitS} s)`);
        this.#flush();
      },
      /** @param {{ status: string, seconds: number, error?: string }} outcome */
      endPart: (part, outcome) => {
        Object.assign(stage.parts[part], outcome);
        printLine(outcome.status, `${outcome.seconds.toFixed(1)} s`);
        if (outcome.error !== undefined) console.log(`  ${outcome.error}`);
        this.#flush(true);
      },
      put: (key, value) => {
        stage[key] = value;
        if (typeof value !== 'object') printLine(key, String(value));
        this.#flush();
      },
      row: (list, row) => {
        (stage[list] ??= []).push(row);
        printRow(row);
        this.#flush();
      },
    };
  }

  end(name, status) {
    this.stages[name].status = status;
    this.#flush(true);
  }

  moveTo(file) {
    this.#takeOver(file);
    this.#file = file;
    this.#flush(true);
  }

  #flush(must = false) {
    const now = performance.now();
    if (this.#file === null || (!must && now - this.#flushed < FLUSH_MS)) return;
    this.#flushed = now;
    mkdirSync(dirname(this.#file), { recursive: true });
    const part = `${this.#file}.${process.pid}`;
    try {
      writeFileSync(part, `${JSON.stringify({ ...this.#head, stages: this.stages }, null, 1)}\n`);
      renameSync(part, this.#file);
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    }
  }
}

function printLine(name, text) {
  console.log(`  ${name.padEnd(NAME_WIDTH)} ${text}`);
}

/** Figures of a row in the order in which they are printed, with their units and factors. */
const UNITS = [
  { key: 'ms', unit: 'ms', factor: 1 },
  { key: 'us', unit: 'µs', factor: 1 },
  { key: 'perSecond', unit: 'tok/s', factor: 1 },
  { key: 'gbytes', unit: 'GB/s', factor: 1 },
  { key: 'tflops', unit: 'TFLOP/s', factor: 1 },
  { key: 'ofRead', unit: '% of read', factor: 100 },
  { key: 'ofFma', unit: '% of FMA', factor: 100 },
  { key: 'ofMatrix', unit: '% of matrix units', factor: 100 },
];

function printRow(row) {
  const figures = UNITS.filter(({ key }) => typeof row[key] === 'number').map(
    ({ key, unit, factor }) => `${Number((factor * row[key]).toPrecision(4))} ${unit}`,
  );
  const words = [row.value, row.error?.split('\n')[0]].filter((word) => word !== undefined);
  printLine(row.name, [...figures, ...words].join('  '));
}
