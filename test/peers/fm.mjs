// A small server on fastmcp: node fm.mjs http PORT | node fm.mjs stdio
import { createServer } from 'node:net';
import { FastMCP } from 'fastmcp';
import { z } from 'zod';

const [mode, port] = process.argv.slice(2);
const quiet = Object.fromEntries(['debug', 'error', 'info', 'log', 'warn'].map((name) => [name, () => {}]));
const server = new FastMCP({ name: 'fm', version: '1.0.0', instructions: 'Adds, echoes and fails.', logger: quiet });
const numbers = z.object({ a: z.number(), b: z.number() });
const readOnly = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };

server.addTool({ name: 'add', description: 'Adds two numbers', parameters: numbers, annotations: readOnly, execute: async ({ a, b }) => String(a + b) });
server.addTool({ name: 'echo', description: 'Returns the text', parameters: z.object({ text: z.string() }), annotations: readOnly, execute: async ({ text }) => text });
server.addTool({ name: 'fail', description: 'Always fails', execute: async () => { throw new Error('failed as asked'); } });
server.addResource({ uri: 'memo://about', name: 'about', mimeType: 'text/plain', load: async () => ({ text: 'A small server.' }) });
server.addResourceTemplate({ uriTemplate: 'memo://notes/{id}', name: 'note', mimeType: 'text/plain', arguments: [{ name: 'id', required: true }], load: async ({ id }) => ({ text: `Note ${id}` }) });
server.addPrompt({ name: 'greet', description: 'Greets someone', arguments: [{ name: 'name', required: true }], load: async ({ name }) => `Say hello to ${name}.` });

// fastmcp does not tell which port it was given, so port 0 is resolved beforehand.
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
}

if (mode === 'stdio') {
  await server.start({ transportType: 'stdio' });
} else if (mode === 'http' && port !== undefined) {
  const chosen = Number(port) || (await freePort());
  await server.start({ transportType: 'httpStream', httpStream: { host: '127.0.0.1', port: chosen } });
  console.error(`listening ${chosen}`);
} else {
  console.error('usage: fm.mjs http PORT | stdio');
  process.exit(2);
}
