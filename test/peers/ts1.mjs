// A stateless Streamable HTTP server on the TypeScript SDK v1: node ts1.mjs PORT [json]
import { createServer } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const [port, reply] = process.argv.slice(2);
if (port === undefined || (reply !== undefined && reply !== 'json')) {
  console.error('usage: ts1.mjs PORT [json]');
  process.exit(2);
}
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };

function newServer() {
  const server = new McpServer({ name: 'ts1', version: '1.0.0' }, { instructions: 'Adds, echoes and fails.' });
  server.registerTool('add', { description: 'Adds two numbers', annotations, inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) => text(String(a + b)));
  server.registerTool('echo', { description: 'Returns the text', annotations, inputSchema: { text: z.string() } }, async ({ text: value }) => text(value));
  server.registerTool('fail', { description: 'Always fails' }, async () => ({ ...text('failed as asked'), isError: true }));
  server.registerResource('about', 'memo://about', { mimeType: 'text/plain' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'A small server.' }] }));
  server.registerResource('note', new ResourceTemplate('memo://notes/{id}', { list: undefined }), { mimeType: 'text/plain' }, async (uri, { id }) => ({ contents: [{ uri: uri.href, text: `Note ${id}` }] }));
  server.registerPrompt('greet', { description: 'Greets someone', argsSchema: { name: z.string() } }, ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }] }));
  return server;
}

const listener = createServer(async (request, response) => {
  if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return response.writeHead(404).end();
  if (request.method !== 'POST') return response.writeHead(405, { allow: 'POST' }).end();
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: reply === 'json' });
  response.on('close', () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
listener.listen(Number(port), '127.0.0.1', () => console.error(`listening ${listener.address().port}`));
