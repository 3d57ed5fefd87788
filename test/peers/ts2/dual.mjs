// A server for both eras on the TypeScript SDK v2:
//   node dual.mjs http PORT [stateless|reject] [auto|sse|json]
//   node dual.mjs stdio [serve|reject]
// The third argument says what happens to clients of the legacy era.
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };

function newServer() {
  const server = new McpServer({ name: 'dual', version: '1.0.0' }, { instructions: 'Adds, echoes and fails.' });
  server.registerTool('add', { description: 'Adds two numbers', annotations, inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) }, async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
  server.registerTool('echo', { description: 'Returns the text', annotations, inputSchema: z.object({ text: z.string() }) }, async ({ text: value }) => text(value));
  server.registerTool('fail', { description: 'Always fails', inputSchema: z.object({}) }, async () => ({ ...text('failed as asked'), isError: true }));
  server.registerResource('about', 'memo://about', { mimeType: 'text/plain' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'A small server.' }] }));
  server.registerResource('note', new ResourceTemplate('memo://notes/{id}', { list: undefined }), { mimeType: 'text/plain' }, async (uri, { id }) => ({ contents: [{ uri: uri.href, text: `Note ${id}` }] }));
  server.registerPrompt('greet', { description: 'Greets someone', argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }] }));
  return server;
}

function serveHTTP(port, legacy = 'stateless', responseMode = 'auto') {
  const handle = toNodeHandler(createMcpHandler(newServer, { legacy, responseMode }));
  const hostAllowed = localhostHostValidation();
  const originAllowed = localhostOriginValidation();
  const listener = createServer((request, response) => {
    if (!hostAllowed(request, response) || !originAllowed(request, response)) return;
    if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return response.writeHead(404).end();
    handle(request, response);
  });
  listener.listen(Number(port), '127.0.0.1', () => console.error(`listening ${listener.address().port}`));
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === 'stdio') {
  serveStdio(newServer, { legacy: rest[0] ?? 'serve' });
} else if (mode === 'http' && rest[0] !== undefined) {
  serveHTTP(...rest);
} else {
  console.error('usage: dual.mjs http PORT [stateless|reject] [auto|sse|json] | stdio [serve|reject]');
  process.exit(2);
}
