// What the peer does from the start of a process to its first decision: one event, one hook.
//
// usage: node oneshot.mjs PACKAGE_DIR SCRATCH_DIR COMMAND TOOL_NAME TOOL_INPUT

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packageDir, scratchDir, command, toolName, toolInput] = process.argv.slice(2);
for (const level of ['debug', 'log', 'info', 'warn', 'error']) console[level] = () => {};

const main = pathToFileURL(join(packageDir, 'dist', 'index.js')).href;
const { Config, HookSystem } = await import(main);

const config = new Config({
  sessionId: 'one-shot',
  targetDir: scratchDir,
  cwd: scratchDir,
  model: 'none',
  debugMode: false,
  usageStatisticsEnabled: false,
});
await config.storage.initialize();
const system = new HookSystem(config);
await system.initialize();
system.registerHook({ type: 'command', command, name: 'hook' }, 'BeforeTool');
const handler = system.getEventHandler();
const result = await handler.fireBeforeToolEvent(toolName, JSON.parse(toolInput));
process.exit(result.success && result.allOutputs.length === 1 ? 0 : 1);
