// Reads the handshake vectors with Node's own test runner, and KafkaJS decodes the responses.
//
// VECTORS names the folder of the vectors, and RESULTS a file for `kafka-conformance vectors check`.
'use strict'
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')
const Decoder = require('kafkajs/src/protocol/decoder')

const FOLDER = process.env.VECTORS
const HEADER_BYTES = 8 // size and correlation id: the header of an ApiVersions response has nothing else
const NEWEST = 2 // of ApiVersions, in KafkaJS
const UNSUPPORTED_VERSION = 35
const load = (name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name), 'utf8'))
const { version } = load('index.json')

// Hexadecimal in which spaces mean nothing, and 61*300 stands for 300 times the byte 61.
const unhex = (text) =>
  Buffer.concat(
    text.split(/\s+/).filter(Boolean).flatMap((part) => {
      const [digits, times] = part.split('*')
      return Array(Number(times ?? 1)).fill(Buffer.from(digits, 'hex'))
    })
  )

const record = (id, result) => {
  if (process.env.RESULTS) fs.appendFileSync(process.env.RESULTS, JSON.stringify({ id, version, result }) + '\n')
}

// What KafkaJS makes of a response: its own decoder, without the error that it raises for error codes.
async function read(vector) {
  const frame = unhex(vector.bytes)
  if (frame.length < HEADER_BYTES || frame.readInt32BE(0) !== frame.length - 4) throw new Error('the size is wrong')
  if (frame.readInt32BE(4) !== vector.correlation_id) throw new Error('another correlation id')
  const body = frame.subarray(HEADER_BYTES)
  if (body.length < 2) throw new Error('no error code')
  const isRefusal = new Decoder(body).readInt16() === UNSUPPORTED_VERSION
  const layout = isRefusal ? 0 : vector.request_version
  // Its decoders raise the error code as an exception after they have read the table; only v0 to v2 are there.
  const { decode } = require(`kafkajs/src/protocol/requests/apiVersions/v${layout}/response`)
  if (isRefusal) return { errorCode: UNSUPPORTED_VERSION, entries: null }
  try {
    const { errorCode, apiVersions } = await decode(body)
    return { errorCode, entries: apiVersions.map((each) => [each.apiKey, each.minVersion, each.maxVersion]) }
  } catch (error) {
    if (error.code === undefined) throw error
    return { errorCode: error.code, entries: null }
  }
}

// The ranges by API key, because the order of the keys means nothing.
const ranges = (entries) => {
  const found = {}
  for (const [key, ...range] of entries) (found[key] ??= []).push(range)
  return found
}

async function check(vector) {
  let read_, problem
  try {
    read_ = await read(vector)
  } catch (error) {
    problem = error
  }
  // The library may read more than the schema allows; it must only come to an end.
  if (vector.meaning === 'malformed') return
  if (vector.meaning === 'error' && problem) return
  assert.ifError(problem)
  assert.strictEqual(read_.errorCode, vector.error_code)
  if (read_.entries && vector.entries) assert.deepStrictEqual(ranges(read_.entries), ranges(vector.entries))
}

for (const vector of load('responses.json').vectors) {
  const isKnown = vector.request_version <= NEWEST
  test(`${vector.id}: ${vector.sentence}`, { skip: !isKnown && 'KafkaJS does not know this version' }, async () => {
    try {
      await check(vector)
    } catch (error) {
      record(vector.id, 'fail')
      throw error
    }
    record(vector.id, 'pass')
  })
  if (!isKnown) record(vector.id, 'skip')
}
