/**
 * Builds dist/downloads for client authors. Its dependencies are needed only here.
 *
 * Invariant: the package and its types have no dependencies, because types derived from the
 * exchange's schemas are written out. The same source yields the same bytes.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import ts from 'typescript';
import { programFolder, programVersion } from '../../../persistence/storage/program-folder.js';

const ROOT = fileURLToPath(programFolder());
const CLIENT = join(ROOT, 'gateway/client');
const OUT = join(ROOT, 'dist/downloads');
const PACKAGE = join(OUT, 'package');
const DECLARATIONS = join(OUT, 'declarations');
const NAME = 'quarter-hour-client';

/** Marks types derived from the exchange's schemas. */
const DERIVED = /\b(Answer|Plain|typeof)\b/;
const FORM =
  ts.NodeBuilderFlags.InTypeAlias |
  ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.MultilineObjectLiterals;

function writeDeclarations(): void {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { compilerOptions } = config;
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, ROOT);
  const program = ts.createProgram([join(CLIENT, 'index.ts')], {
    ...options,
    declaration: true,
    emitDeclarationOnly: true,
  });
  const checker = program.getTypeChecker();
  // A file without imports knows no aliases, so the checker writes out each type.
  const elsewhere = program.getSourceFile(join(CLIENT, 'amounts.ts'));
  const { factory } = ts;
  const writeOut: ts.CustomTransformerFactory = (context) => ({
    transformBundle: (bundle) => bundle,
    transformSourceFile: (file) =>
      ts.visitEachChild(
        file,
        (node) => {
          if (ts.isImportDeclaration(node) && leavesClient(file, node)) return undefined;
          if (!ts.isTypeAliasDeclaration(node) || node.typeParameters) return node;
          const source = ts.getOriginalNode(node, ts.isTypeAliasDeclaration);
          if (!DERIVED.test(source.getText())) return node;
          const type = checker.typeToTypeNode(checker.getTypeAtLocation(source), elsewhere, FORM)!;
          return factory.updateTypeAliasDeclaration(
            node,
            node.modifiers,
            node.name,
            undefined,
            type,
          );
        },
        context,
      ),
  });
  for (const file of program.getSourceFiles().filter(({ fileName }) => isOfClient(fileName)))
    program.emit(
      file,
      (_, text) => {
        const path = join(DECLARATIONS, relative(CLIENT, file.fileName).replace(/ts$/, 'd.ts'));
        ts.sys.writeFile(path, text);
      },
      undefined,
      true,
      { afterDeclarations: [writeOut] },
    );
}

function isOfClient(path: string): boolean {
  return path.startsWith(`${CLIENT}/`);
}

function leavesClient(file: ts.SourceFile, { moduleSpecifier }: ts.ImportDeclaration): boolean {
  const { text } = moduleSpecifier as ts.StringLiteral;
  return !text.startsWith('.') || !isOfClient(join(file.fileName, '..', text));
}

async function writeModule(): Promise<void> {
  const code = await rolldown({ input: join(CLIENT, 'index.ts'), platform: 'neutral' });
  // The annotations let bundlers drop unused routes.
  const comments = { annotation: true, jsdoc: false, legal: false };
  await code.write({ file: join(PACKAGE, 'index.js'), comments });
  const input = join(DECLARATIONS, 'index.d.ts');
  const types = await rolldown({ input, plugins: [dts({ dtsInput: true, emitDtsOnly: true })] });
  await types.write({ dir: PACKAGE });
}

function guide(): string {
  const [, text] = /\n(## Clients\n[\s\S]*?)\n## /.exec(
    readFileSync(join(ROOT, 'README.md'), 'utf8'),
  )!;
  return `${text}\n`;
}

function pack(): void {
  const manifest = {
    name: NAME,
    version: programVersion(),
    description: 'A client of the Quarter-Hour Exchange, for Node.js and browsers',
    license: 'MIT',
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    types: './index.d.ts',
    sideEffects: false,
    engines: { node: '>=20.3' },
  };
  writeFileSync(join(PACKAGE, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(ROOT, 'LICENSE'), join(PACKAGE, 'LICENSE'));
  writeFileSync(join(PACKAGE, 'README.md'), guide());
  // npm gives all files of a package the same time, so the package is reproducible.
  const args = ['pack', PACKAGE, '--pack-destination', OUT, '--ignore-scripts', '--offline'];
  execFileSync('npm', [...args, '--silent'], { stdio: ['ignore', 'ignore', 'inherit'] });
  renameSync(join(OUT, `${NAME}-${programVersion()}.tgz`), join(OUT, `${NAME}.tgz`));
}

function copyPrograms(): void {
  for (const name of ['quarter_hour.py', 'pyproject.toml'])
    cpSync(join(CLIENT, 'python', name), join(OUT, name));
  for (const folder of ['python/examples', 'ccxt'])
    cpSync(join(CLIENT, folder), OUT, { recursive: true });
  for (const name of readdirSync(join(CLIENT, 'examples'))) {
    const text = readFileSync(join(CLIENT, 'examples', name), 'utf8')
      .replace("'../index.js'", `'${NAME}'`)
      .replaceAll(/'(\.\/[\w-]+)\.js'/g, "'$1.ts'");
    writeFileSync(join(OUT, name), text);
  }
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(PACKAGE, { recursive: true });
writeDeclarations();
await writeModule();
pack();
copyPrograms();
