/**
 * Bundles each program and thread that applies commands into one module, in the place where tsc has
 * compiled its first file.
 *
 * V8 reads a value that a module imports or exports from a cell, and checks it, every time; within
 * one module that exports nothing, constants become part of the compiled code. A command takes
 * about a fifth less time. What is not listed here runs as tsc compiles it, and does the same.
 *
 * The name of a function declaration could get another value, so V8 checks it at every call, even
 * of an inlined function. So the declarations become constants.
 */
import MagicString from 'magic-string';
import type { Plugin, RolldownOptions } from 'rolldown';

const PROGRAMS = [
  'gateway/main',
  'gateway/edge/thread/thread',
  'gateway/stream/resume/replay-worker',
  'persistence/follower/worker',
  'persistence/tools/operations/main',
  'persistence/tools/replay/main',
  'persistence/recovery/snapshot/worker',
  'bench/main',
  'bench/compare/engine-run',
  'bench/journal/cold-recovery',
];

/** Constants have no value before their line, so they come first. */
const FUNCTIONS_AS_CONSTANTS: Plugin = {
  name: 'functions-as-constants',
  renderChunk(code) {
    const text = new MagicString(code);
    const { body } = this.parse(code);
    const first = body.find(({ type }) => type !== 'ImportDeclaration')!.start;
    for (const node of body) {
      if (node.type !== 'FunctionDeclaration') continue;
      text.appendRight(node.start, `const ${node.id!.name} = `).appendLeft(node.end, ';\n');
      if (node.start !== first) text.move(node.start, node.end, first);
    }
    return { code: text.toString(), map: text.generateMap({ hires: 'boundary' }) };
  },
};

export default PROGRAMS.map(
  (program): RolldownOptions => ({
    input: `${program}.ts`,
    plugins: [FUNCTIONS_AS_CONSTANTS],
    platform: 'node',
    // Otherwise a slow machine's build prints advice about its own plugin.
    checks: { pluginTimings: false },
    // Packages are loaded as they are installed.
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: {
      file: `dist/${program}.js`,
      sourcemap: true,
      codeSplitting: false,
      topLevelVar: false,
    },
  }),
);
