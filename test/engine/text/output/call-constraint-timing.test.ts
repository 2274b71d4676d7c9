// Constrained calls on a fake device: a hash of the tokens decides where they begin and end, and whatever delays the loop, the
// tokens are those of the request alone.

import { expect, it } from 'vitest';
import { argumentsKey, createCallConstraint } from '../../../../src/engine/text/output/call-constraint.ts';
import {
  plainOutput,
  type ArgumentSyntax,
  type OutputParser,
} from '../../../../src/engine/text/calls/output-parser.ts';
import { randomInteger } from '../../random.ts';
import { paperConstraint } from '../paper-constraint.ts';
import { allFinished, createPaperEngine } from '../paper-engine.ts';
import { generated, paperSequence, type PaperSequence } from '../paper-sequence.ts';

/** Where the arguments of a call begin: with its first token, with the next one, or with that and known to the parser from the first on. */
const STARTS = ['with the call', 'after its first token', 'announced'] as const;

type Start = (typeof STARTS)[number];

/** A call begins with every third token and ends with every fifth. */
function paperCalls(syntax: ArgumentSyntax, start: Start): OutputParser {
  let calls = 0;
  let written: string | null = null;
  let announced = false;
  const push: OutputParser['push'] = ({ id, text }) => {
    if (written !== null) written = id! % 5 === 0 ? null : written + text;
    else if (announced) {
      announced = false;
      written = '';
    } else if (id! % 3 === 0) {
      calls++;
      if (start === 'announced') announced = true;
      else written = start === 'with the call' ? text : '';
    }
    return [];
  };
  return {
    ...plainOutput(),
    push,
    get toolCalls() {
      return calls;
    },
    get openArguments() {
      const all = written;
      return all === null ? null : { syntax, tool: 'paper', nth: calls, written: () => [all] };
    },
    get awaitsArguments() {
      return announced || (syntax === 'json' && written === '');
    },
  };
}

interface Asked {
  prompt: number[];
  length: number;
  seed: number;
  syntax: ArgumentSyntax;
  start: Start;
}

function ask({ prompt, length, seed, syntax, start: begins }: Asked): PaperSequence {
  const sequence = paperSequence(prompt, length, { seed });
  const { pieces } = sequence.output;
  const start = () => paperConstraint({ seed, forcedIn: 1000 });
  sequence.constraint = createCallConstraint({
    names: null,
    anyObject: { start },
    byTool: new Map([[argumentsKey({ syntax, tool: 'paper' }), { start }]]),
    read: () => ({ output: paperCalls(syntax, begins), pieces }),
  });
  return sequence;
}

it.each([1, 2, 3])('tokens with a call constraint are those of the request alone: seed %d', async (seed) => {
  const random = randomInteger(seed);
  const engine = createPaperEngine({ pages: 14, slots: 1, rows: 32 }, random);
  const { scheduler, start } = engine;
  for (let round = 0; round < 6; round++) {
    const one: Asked = {
      prompt: [random(250), random(250)],
      length: 60,
      seed: random(1000),
      syntax: round % 2 === 1 ? 'json' : 'tagged',
      start: STARTS[round % 3]!,
    };
    const alone = start(ask(one));
    await allFinished([alone]);
    const pressed = start(ask(one));
    while (!pressed.finished) {
      const urgent = start(paperSequence([random(250)], 1, { priority: 10 }));
      for (let turn = random(20); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      await allFinished([urgent]);
    }
    expect(generated(pressed)).toEqual(generated(alone));
  }
  expect(scheduler.retractions).toBeGreaterThan(20);
});
