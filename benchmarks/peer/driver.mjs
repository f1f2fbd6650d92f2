// Runs the peer's own hook system on request, so that its samples can be taken one by one between
// ours: a line "WORKLOAD ITERATIONS" on stdin is answered with the nanoseconds it took on stdout.
//
// usage: node driver.mjs PACKAGE_DIR SCRATCH_DIR FIXTURES_JSON

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [packageDir, scratchDir, fixturesFile] = process.argv.slice(2);
const fixtures = JSON.parse(readFileSync(fixturesFile, 'utf8'));

// The peer's product routes its console into a view of its own; on a pipe it would cost it a write
// for every event, and garble the answers here.
for (const level of ['debug', 'log', 'info', 'warn', 'error']) console[level] = () => {};

const load = (path) => import(pathToFileURL(join(packageDir, 'dist', 'src', path)).href);
const { Config } = await load('config/config.js');
const { HookSystem } = await load('hooks/hookSystem.js');
const { HookPlanner } = await load('hooks/hookPlanner.js');
const { HookAggregator } = await load('hooks/hookAggregator.js');

async function systemWith(hooks) {
  const config = new Config({
    sessionId: fixtures.sessionId,
    targetDir: scratchDir,
    cwd: scratchDir,
    model: 'none',
    debugMode: false,
    usageStatisticsEnabled: false,
  });
  await config.storage.initialize();
  const system = new HookSystem(config);
  await system.initialize();
  for (const { event, matcher, hook } of hooks) system.registerHook(hook, event, { matcher });
  return system;
}

const command = (event, matcher, name) => ({
  event,
  matcher,
  hook: { type: 'command', command: 'true', name },
});
const commands = (event, matchers) => matchers.map((m, i) => command(event, m, `hook ${i}`));

function firing(system) {
  const handler = system.getEventHandler();
  const { toolName, toolInput } = fixtures;
  return async (iterations) => {
    for (let i = 0; i < iterations; i++) await handler.fireBeforeToolEvent(toolName, toolInput);
  };
}

// Hooks that fail would be fast, so every answer is looked at.
async function running({ command, count, toolInput }) {
  const hooks = Array.from({ length: count }, (_, i) => ({
    event: 'BeforeTool',
    hook: { type: 'command', command, name: `hook ${i}` },
  }));
  const handler = (await systemWith(hooks)).getEventHandler();
  return async (iterations) => {
    for (let i = 0; i < iterations; i++) {
      const result = await handler.fireBeforeToolEvent(fixtures.toolName, toolInput);
      if (!result.success || result.allOutputs.length !== count) throw result;
    }
  };
}

const others = fixtures.otherMatchers;
const inProcess = (action) => ({
  event: 'BeforeTool',
  hook: { type: 'runtime', name: 'in-process', action },
});
const fifty = await systemWith(commands('BeforeTool', fixtures.matchingMatchers));
const answers = fixtures.answers.map((output) => ({
  hookConfig: { type: 'command', command: 'true' },
  eventName: 'BeforeTool',
  success: true,
  duration: 1,
  output,
}));
const aggregator = new HookAggregator();
const encoded = JSON.stringify(fixtures.payload);

const repeat = (operation) => async (iterations) => {
  for (let i = 0; i < iterations; i++) operation();
};

const workloads = {
  'no-match-0': firing(await systemWith([])),
  'no-match-1': firing(await systemWith(commands('BeforeTool', others.slice(0, 1)))),
  'no-match-100': firing(await systemWith(commands('BeforeTool', others.slice(0, 100)))),
  'no-match-1000': firing(await systemWith(commands('BeforeTool', others))),
  'other-event-1000': firing(await systemWith(commands('AfterTool', others))),
  'in-process-allow': firing(await systemWith([inProcess(async () => ({ decision: 'allow' }))])),
  'in-process-silent': firing(await systemWith([inProcess(async () => undefined)])),
  plan: repeat(() =>
    new HookPlanner(fifty.getRegistry()).createExecutionPlan('BeforeTool', {
      toolName: fixtures.toolName,
    }),
  ),
  aggregate: repeat(() => aggregator.aggregateResults(answers, 'BeforeTool')),
  encode: repeat(() => JSON.stringify(fixtures.payload)),
  decode: repeat(() => JSON.parse(encoded)),
};

for (const hooks of fixtures.commands) workloads[hooks.name] = await running(hooks);

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [name, iterations] = line.split(' ');
  const started = process.hrtime.bigint();
  await workloads[name](Number(iterations));
  process.stdout.write(`${process.hrtime.bigint() - started}\n`);
}
process.exit(0);
